//! The scenes, by families: a module each.

use runahead_core::Session;

use super::{Image, SIDE, Stage, StageError, basic, buffers, draws, state, vertex};

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
}
