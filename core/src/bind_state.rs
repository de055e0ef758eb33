//! What the applier holds of one context.

use runahead_wire::{
    Handle, limits,
    payload::{BufferRange, StreamOutputBegin},
};

use crate::state::{BUFFER_CLASSES, State, Window};

/// Serials of the families of a context's state: each moves when a record changed its family, and only then. A
/// backend skips a family whose serial, and the serials of the objects that it names, it has seen.
///
/// They are the server's own: nothing that the client computed feeds a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serials {
    /// Render state, pipeline half.
    pub pipeline_state: u64,
    /// Render state, dynamic half.
    pub dynamic_state: u64,
    /// Pack state.
    pub pixel_pack: u64,
    /// Patches.
    pub patch: u64,
    /// Current values of attributes.
    pub attrib_defaults: u64,
    /// The vertex layout's binding; its content has a serial of its own.
    pub vertex_elements: u64,
    /// Vertex buffers.
    pub vertex_buffers: u64,
    /// The index buffer.
    pub index_buffer: u64,
    /// Buffers of indirect commands.
    pub indirect_buffers: u64,
    /// Sampler views.
    pub sampler_views: u64,
    /// Samplers.
    pub sampler_states: u64,
    /// Image units.
    pub shader_images: u64,
    /// Indexed buffers, by class.
    pub shader_buffers: [u64; BUFFER_CLASSES],
    /// The three programs.
    pub programs: u64,
    /// The framebuffer of draws: its binding.
    pub draw_framebuffer: u64,
    /// The framebuffer of reads: its binding.
    pub read_framebuffer: u64,
    /// Values without a row of their own.
    pub values: u64,
    /// The query that verbs depend on.
    pub conditional_render: u64,
    /// Transform feedback: the bound object, and the open span.
    pub stream_output: u64,
}

impl Serials {
    /// Serials that have all moved.
    #[must_use]
    pub const fn all(serial: u64) -> Self {
        Self {
            pipeline_state: serial,
            dynamic_state: serial,
            pixel_pack: serial,
            patch: serial,
            attrib_defaults: serial,
            vertex_elements: serial,
            vertex_buffers: serial,
            index_buffer: serial,
            indirect_buffers: serial,
            sampler_views: serial,
            sampler_states: serial,
            shader_images: serial,
            shader_buffers: [serial; BUFFER_CLASSES],
            programs: serial,
            draw_framebuffer: serial,
            read_framebuffer: serial,
            values: serial,
            conditional_render: serial,
            stream_output: serial,
        }
    }
}

/// A span of capture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Capture {
    /// What it began with.
    pub begin: StreamOutputBegin,
    /// Whether it is paused.
    pub paused: bool,
}

/// The working state of one context.
#[derive(Clone, Debug, Default)]
pub struct BindState {
    /// The state, as told.
    pub state: State,
    /// When its families moved.
    pub serials: Serials,
    /// The render-state CSO that the pipeline half came from.
    pub render_state: Handle,
    /// Buffers of transform feedback, as the superseded row sets them.
    pub stream_output_targets: Window<BufferRange, { limits::STREAM_OUTPUT_TARGETS }>,
    /// The open span of capture.
    pub capture: Option<Capture>,
    /// What stands in the way of a verb.
    pub(crate) trouble: Trouble,
    /// Epoch of the share group's objects when the windows were last looked through.
    pub(crate) epoch_seen: u64,
    /// An index buffer that was found live in that epoch.
    pub(crate) indices_seen: Option<Handle>,
}

/// What stands in the way of a verb: nothing, in a steady draw, which is one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trouble(u8);

impl Trouble {
    /// Handles were set since the windows were looked through.
    pub(crate) const UNCHECKED: Self = Self(1);
    /// The context values have not come since the context began.
    pub(crate) const NO_VALUES: Self = Self(2);
    /// The windows of views and samplers do not cover every unit that was touched.
    pub(crate) const UNCOVERED: Self = Self(4);
    /// The program of draws or a vertex buffer was refused by the server.
    pub(crate) const DRAW_REFUSED: Self = Self(8);
    /// The program of dispatches was refused.
    pub(crate) const DISPATCH_REFUSED: Self = Self(16);
    /// Something attached to the framebuffer of draws was refused.
    pub(crate) const DRAW_FRAMEBUFFER_REFUSED: Self = Self(32);
    /// Something attached to the framebuffer of reads was refused.
    pub(crate) const READ_FRAMEBUFFER_REFUSED: Self = Self(64);

    /// None of a verb's, but something comes before it: its state is compared with the client's.
    pub(crate) const COMPARED: Self = Self(128);

    /// Anything of these refusals.
    #[cfg(feature = "compare")]
    pub(crate) const REFUSED: Self = Self::DRAW_REFUSED
        .and(Self::DISPATCH_REFUSED)
        .and(Self::DRAW_FRAMEBUFFER_REFUSED)
        .and(Self::READ_FRAMEBUFFER_REFUSED);

    /// Whether there is any of this trouble.
    pub(crate) const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// This trouble is there, or is not.
    pub(crate) const fn set(&mut self, which: Self, there: bool) {
        self.0 = if there { self.0 | which.0 } else { self.0 & !which.0 };
    }

    /// Both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What keeps a draw from being drawn.
    pub(crate) const DRAW: Self = Self::UNCHECKED
        .and(Self::NO_VALUES)
        .and(Self::UNCOVERED)
        .and(Self::DRAW_REFUSED)
        .and(Self::DRAW_FRAMEBUFFER_REFUSED);

    /// What makes a draw one that is not steady.
    pub(crate) const UNSTEADY: Self = Self::DRAW.and(Self::COMPARED);
}

impl Default for Trouble {
    /// That of a new context.
    fn default() -> Self {
        Self::NO_VALUES.and(Self::UNCOVERED)
    }
}
