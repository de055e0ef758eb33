//! The scenes, by families: a module each.

use runahead_core::Session;

use super::{
    Image, SIDE, Stage, StageError, basic, capture, compute, framebuffers, programs, queries, textures,
    transfers,
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
