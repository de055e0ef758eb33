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
    /// Whether the values came since the context began.
    pub(crate) has_values: bool,
    /// Whether the windows of views and samplers cover every unit that was touched.
    pub(crate) windows_cover: bool,
    /// Deaths of the share group when the windows were last looked through.
    pub(crate) deaths_seen: u64,
    /// Refusals of the share group at that time.
    pub(crate) refusals_seen: u64,
    /// Families whose handles were set since then.
    pub(crate) unchecked: bool,
    /// What a draw cannot do without and the server has refused.
    pub(crate) refused: Refused,
}

/// Whether something that verbs of a class cannot do without was refused by the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) draw: bool,
    pub(crate) dispatch: bool,
    pub(crate) draw_framebuffer: bool,
    pub(crate) read_framebuffer: bool,
}
