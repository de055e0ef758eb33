//! The scenes, by families: a module each.

use runahead_core::Session;

use super::{
    Image, SIDE, Stage, StageError, basic, buffers, capture, compute, draws, framebuffers, programs, queries,
    state, textures, transfers, vertex,
};

macro_rules! scenes {
    (($d:tt) $( $family:ident { $( $(#[$doc:meta])+ $scene:ident = $name:ident; )+ } )+) => {
        /// A scene.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Scene {
            $( $( $(#[$doc])+ $scene, )+ )+
        }

        impl Scene {
            /// Every scene.
            pub const ALL: &'static [Self] = &[ $( $( Self::$scene, )+ )+ ];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $( $( Self::$scene => stringify!($name), )+ )+ }
            }

            /// The family that it is of.
            #[must_use]
            pub const fn family(self) -> &'static str {
                match self { $( $( Self::$scene => stringify!($family), )+ )+ }
            }

            /// Draws it.
            ///
            /// # Errors
            /// [`StageError`].
            pub fn draw<P: Session>(self, stage: &mut Stage<'_, P>) -> Result<(), StageError> {
                match self { $( $( Self::$scene => $family::$name::draw(stage), )+ )+ }
            }

            /// The image that it leaves.
            #[must_use]
            pub fn image(self) -> Image {
                match self { $( $( Self::$scene => Image::of(SIDE, SIDE, $family::$name::pixel), )+ )+ }
            }
        }

        /// Calls a macro with every scene: `name Variant;` for each.
        #[macro_export]
        macro_rules! each_scene {
            ($d then:ident) => { $d then! { $( $( $name $scene; )+ )+ } };
        }
    };
}

// A family's module has a module of each scene's name: `draw`, and `pixel` for what must be there then.
scenes! { ($)
    basic {
        /// A triangle in the colour of a uniform.
        Triangle = triangle;
        /// A triangle in the colour that a struct of uniforms gives.
        UniformStruct = uniform_struct;
        /// A clear of the whole, and one inside the scissor box.
        ClearThenRead = clear_then_read;
        /// A textured quad.
        Texture = texture;
        /// An attribute without an array, before and after its current value was set.
        AttributeDefaults = attribute_defaults;
        /// A texture and a buffer whose slots are taken again.
        HandleRecycle = handle_recycle;
        /// Drawn to a texture, which is drawn to the surface; by indices.
        RenderToTexture = render_to_texture;
        /// A program of stages that give their locations, and bytes of a buffer that come back.
        StagedProgram = staged_program;
        /// Draws of one state, with work on another texture in between.
        WorkBetweenDraws = work_between_draws;
    }
    buffers {
        /// Buffers written in every way between draws.
        Updates = updates;
        /// Spans filled with a value.
        Fills = fills;
        /// A store that stays mapped.
        Persistent = persistent;
        /// One large store of many things.
        Arena = arena;
        /// Buffers that end while they are bound, dropped contents, marks.
        Ends = ends;
        /// A store that cannot be had.
        BufferRefused = buffer_refused;
    }
    draws {
        /// Each topology in indices of each size, with restart at the largest index.
        RestartFixed = restart_fixed;
        /// The same with restart at other indices, and the largest index as a vertex.
        RestartArbitrary = restart_arbitrary;
        /// Ranges with an index bias.
        BaseVertex = base_vertex;
        /// Arrays of several divisors from a first instance on.
        BaseInstance = base_instance;
        /// Several ranges in one record.
        MultiDraw = multi_draw;
        /// Draws whose parameters lie in buffers.
        IndirectDraws = indirect_draws;
        /// Draws whose number lies in a buffer.
        IndirectCount = indirect_count;
        /// Indices and attributes beyond the ends of their buffers.
        OutOfRange = out_of_range;
        /// Index buffers of each size, bound anew, with other contents, from an offset.
        IndexBuffers = index_buffers;
    }
    state {
        /// Each pair of blend factors.
        BlendFactors = blend_factors;
        /// Each pair of equations, and each colour mask.
        BlendEquations = blend_equations;
        /// Depth and stencil comparisons, masks, and what passes.
        DepthStencil = depth_stencil;
        /// What stencil values become.
        StencilOps = stencil_ops;
        /// Fields set one by one, and back.
        Setters = setters;
        /// Clip distances.
        ClipDistances = clip_distances;
        /// A second source of blending.
        DualSource = dual_source;
        /// Sample masks, coverage, and what alpha does to it.
        SampleMasks = sample_masks;
        /// Blending and masks of each draw buffer.
        DrawBuffers = draw_buffers;
        /// Clears of each kind.
        Clears = clears;
        /// What the driver does not have, where it would change an image.
        StateRefused = state_refused;
    }
    vertex {
        /// Formats of attributes.
        Formats = formats;
        /// Attributes and points of other numbers, shared, far apart, of one value.
        Bindings = bindings;
        /// Current values of each class, by inputs of each class.
        Defaults = defaults;
        /// Formats that OpenGL ES has not.
        VertexRefused = vertex_refused;
    }
    programs {
        /// Uniform blocks at points that change, with stores that are defined anew, and an array of them.
        UniformPoints = uniform_points;
        /// A link that fails, a program that is not linked, and other contents on the same handle.
        FailedRelink = failed_relink;
        /// Two contexts of a share group, taking turns.
        TwoContexts = two_contexts;
        /// A geometry stage, with a block between stages.
        GeometryStage = geometry_stage;
        /// A geometry stage that chooses viewports, each with a scissor box of its own.
        ViewportArrays = viewport_arrays;
        /// Both tessellation stages, with patches of several sizes.
        Tessellation = tessellation;
        /// The number of samples, which the server fills in.
        SampleCount = sample_count;
    }
    compute {
        /// Buffers of the three classes from the first point to the last, and blocks that move.
        BufferPoints = buffer_points;
        /// A store that is defined anew under a point that stays.
        StorageRegrow = storage_regrow;
        /// As many groups as a buffer says, also one that a shader wrote.
        Indirect = indirect;
        /// Vertices that a shader wrote.
        VerticesWritten = vertices_written;
        /// Images of each access, one layer and all, at units that change.
        Images = images;
    }
    capture {
        /// Captured into one buffer with a pause, beside another context, and drawn back.
        PauseAndDrawBack = pause_and_draw_back;
        /// Captured into a buffer each, of which one ends early.
        SeparateBuffers = separate_buffers;
    }
    queries {
        /// Each kind of query.
        Kinds = kinds;
        /// Queries of two contexts that take turns.
        AcrossContexts = across_contexts;
        /// Draws, clears and dispatches that depend on a query, in every mode.
        Conditional = conditional;
        /// Fences are passed in their order.
        FenceOrder = fence_order;
    }
    textures {
        /// Every target, sampled or fetched.
        TextureTargets = texture_targets;
        /// Shapes of uploads.
        UploadShapes = upload_shapes;
        /// One level is defined again.
        RespecifiedLevel = respecified_level;
        /// Parameters with no view and no rebind.
        TextureParameters = texture_parameters;
        /// Windows, other targets and formats, written through either end.
        TextureViews = texture_views;
        /// Every format: upload, sample, read, draw.
        AllFormats = all_formats;
        /// 64 textures with four sets of parameters each.
        ParameterUpdates = parameter_updates;
    }
    framebuffers {
        /// One image of each kind, eight of all kinds, every layer at once.
        AttachmentKinds = attachment_kinds;
        /// Outputs that go to attachments of other numbers.
        DrawBufferMaps = draw_buffer_maps;
        /// Draw buffers of the surface.
        DefaultDrawBuffers = default_draw_buffers;
        /// Images that end, or have other storage, while they are attached.
        EndedAttachments = ended_attachments;
        /// Named, mirrored, resolved, of depth and stencil.
        FramebufferBlits = framebuffer_blits;
    }
    transfers {
        /// Regions between layers, slices, faces, blocks and renderbuffers.
        CopyImages = copy_images;
        /// From the framebuffer into each target.
        CopiesFromFramebuffer = copies_from_framebuffer;
        /// Mipmaps of each class and target.
        Mipmaps = mipmaps;
        /// Regions filled with one texel.
        ClearTextures = clear_textures;
        /// Slices, bands and pairs of pixels.
        ReadImages = read_images;
        /// Rows and slices in a buffer.
        PackPixels = pack_pixels;
    }
}
