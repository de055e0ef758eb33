//! The state of one context at a verb, as both roles hold it.
//!
//! The client's tracker has it twice, as it should be and as it was last sent; the applier has it as it was
//! told. One struct on both sides is what lets the comparator put them beside each other field by field.

use runahead_wire::{
    Handle, limits,
    payload::{
        AttribValue, BoundView, BufferRange, ConditionalRender, ContextValues, FramebufferState, ImageView,
        IndexBuffer, IndirectBuffers, Member, PatchState, PixelPackState, RenderState, VertexBuffer,
    },
    values::ShaderBufferClass,
    zerocopy::IntoBytes,
};

/// Vertex buffers of a window.
pub const VERTEX_BINDINGS: usize = limits::VERTEX_BINDINGS as usize;
/// Texture units.
pub const TEXTURE_UNITS: usize = limits::TEXTURE_UNITS as usize;
/// Image units.
pub const IMAGE_UNITS: usize = limits::IMAGE_UNITS as usize;
/// Indexed points of one class.
pub const BUFFER_BINDINGS: usize = limits::BUFFER_BINDINGS as usize;
/// Vertex attributes.
pub const VERTEX_ATTRIBS: usize = limits::VERTEX_ATTRIBS as usize;
/// Classes of indexed buffers, in the order of [`ShaderBufferClass`].
pub const BUFFER_CLASSES: usize = 3;

/// A window of bindings. A set replaces the whole of it: what it does not cover is empty, so that nothing
/// stays bound behind the back of whoever sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct Window<T, const N: usize> {
    start: u32,
    count: u32,
    entries: [T; N],
}

impl<T: Member + Default, const N: usize> Default for Window<T, N> {
    fn default() -> Self {
        Self { start: 0, count: 0, entries: [T::default(); N] }
    }
}

impl<T: Member + Default, const N: usize> Window<T, N> {
    /// First point.
    #[inline]
    #[must_use]
    pub const fn start(&self) -> u32 {
        self.start
    }

    /// Points.
    #[inline]
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The points of the window.
    #[inline]
    #[must_use]
    pub fn covered(&self) -> &[T] {
        let start = self.start as usize;
        self.entries.get(start..start + self.count as usize).unwrap_or_default()
    }

    /// What is bound at a point; the default outside of the window.
    #[inline]
    #[must_use]
    pub fn get(&self, point: u32) -> T {
        self.entries.get(point as usize).copied().unwrap_or_default()
    }

    /// Replaces the window. `false`, and nothing changed, when it does not fit.
    #[must_use]
    pub fn set(&mut self, start: u32, points: &[T]) -> bool {
        let at = start as usize;
        let fits = at.checked_add(points.len()).is_some_and(|end| end <= N);
        if fits {
            let old = self.start as usize..self.start as usize + self.count as usize;
            if let Some(old) = self.entries.get_mut(old) {
                old.fill(T::default());
            }
            if let Some(new) = self.entries.get_mut(at..at + points.len()) {
                new.copy_from_slice(points);
            }
            self.start = start;
            self.count = points.len() as u32;
        }
        fits
    }

    /// Binds one point, and widens the window to it. `false`, and nothing changed, when there is no such
    /// point.
    #[must_use]
    pub fn set_one(&mut self, point: u32, to: T) -> bool {
        let Some(entry) = self.entries.get_mut(point as usize) else { return false };
        *entry = to;
        if self.count == 0 {
            self.start = point;
            self.count = 1;
        } else {
            let end = (self.start + self.count).max(point + 1);
            self.start = self.start.min(point);
            self.count = end - self.start;
        }
        true
    }

    /// Widens the window to begin at 0 and have at least `count` points.
    pub fn cover(&mut self, count: u32) {
        let end = (self.start + self.count).max(count).min(N as u32);
        self.start = 0;
        self.count = end;
    }

    /// Changes the points of the window one by one.
    pub fn covered_mut(&mut self) -> &mut [T] {
        let start = self.start as usize;
        self.entries.get_mut(start..start + self.count as usize).unwrap_or_default()
    }

    /// Whether both windows cover and bind the same.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        self.start == other.start && self.covered().as_bytes() == other.covered().as_bytes()
    }
}

/// A window of indexed buffers of one class.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BufferWindow {
    /// The buffers.
    pub buffers: Window<BufferRange, BUFFER_BINDINGS>,
    /// Points that shaders may write, bit `n` of the window for point `start + n`.
    pub writable: [u32; limits::BUFFER_BINDING_WORDS],
}

/// State of one context, but for the contents of the objects that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Render state, both halves.
    pub render: RenderState,
    /// How readbacks into a pack buffer lie.
    pub pixel_pack: PixelPackState,
    /// Patches.
    pub patch: PatchState,
    /// Current values of attributes.
    pub attrib_defaults: [AttribValue; VERTEX_ATTRIBS],
    /// The vertex layout.
    pub vertex_elements: Handle,
    /// Vertex buffers.
    pub vertex_buffers: Window<VertexBuffer, VERTEX_BINDINGS>,
    /// The index buffer.
    pub index_buffer: IndexBuffer,
    /// Buffers of indirect commands.
    pub indirect_buffers: IndirectBuffers,
    /// What the texture units see.
    pub sampler_views: Window<BoundView, TEXTURE_UNITS>,
    /// Samplers of the texture units.
    pub sampler_states: Window<Handle, TEXTURE_UNITS>,
    /// Image units.
    pub shader_images: Window<ImageView, IMAGE_UNITS>,
    /// Indexed buffers, by class.
    pub shader_buffers: [BufferWindow; BUFFER_CLASSES],
    /// The program that the application bound.
    pub shader: Handle,
    /// The program of draws.
    pub draw_program: Handle,
    /// The program of dispatches.
    pub dispatch_program: Handle,
    /// The framebuffer of draws.
    pub draw_framebuffer: Handle,
    /// The framebuffer of reads.
    pub read_framebuffer: Handle,
    /// The framebuffer of the current surfaces, which belongs to the context.
    pub default_framebuffer: FramebufferState,
    /// Values without a row of their own.
    pub values: ContextValues,
    /// The query that verbs depend on.
    pub conditional_render: ConditionalRender,
    /// Identity of the bound transform feedback object.
    pub stream_output: u64,
}

impl Default for State {
    fn default() -> Self {
        let mut attrib_defaults = [AttribValue::default(); VERTEX_ATTRIBS];
        for (location, value) in attrib_defaults.iter_mut().enumerate() {
            *value = initial_attrib(location as u32);
        }
        Self {
            render: initial_render_state(),
            pixel_pack: PixelPackState { alignment: 4, ..PixelPackState::default() },
            patch: PatchState { vertices: 3, outer: [1.0; 4], inner: [1.0; 2], ..PatchState::default() },
            attrib_defaults,
            vertex_elements: Handle::NULL,
            vertex_buffers: Window::default(),
            index_buffer: IndexBuffer::default(),
            indirect_buffers: IndirectBuffers::default(),
            sampler_views: Window::default(),
            sampler_states: Window::default(),
            shader_images: Window::default(),
            shader_buffers: Default::default(),
            shader: Handle::NULL,
            draw_program: Handle::NULL,
            dispatch_program: Handle::NULL,
            draw_framebuffer: Handle::NULL,
            read_framebuffer: Handle::NULL,
            default_framebuffer: FramebufferState::default(),
            values: ContextValues::default(),
            conditional_render: ConditionalRender::default(),
            stream_output: 0,
        }
    }
}

impl State {
    /// The window of one class.
    #[must_use]
    pub const fn buffers(&self, class: ShaderBufferClass) -> &BufferWindow {
        &self.shader_buffers[class as usize]
    }

    /// The window of one class, to be changed.
    pub const fn buffers_mut(&mut self, class: ShaderBufferClass) -> &mut BufferWindow {
        &mut self.shader_buffers[class as usize]
    }
}

/// The current value of an attribute in a new context: (0, 0, 0, 1) (OpenGL 4.6 section 10.2.1).
fn initial_attrib(location: u32) -> AttribValue {
    AttribValue {
        location,
        float_view: [0, 0, 0, 1.0f32.to_bits()],
        int_view: [0, 0, 0, 1],
        uint_view: [0, 0, 0, 1],
        ..AttribValue::default()
    }
}

/// The render state of a new context (OpenGL 4.6 tables 23.6 to 23.14, 23.26 to 23.29), but for viewports and
/// scissor boxes, which take the size of the first surface.
#[must_use]
pub fn initial_render_state() -> RenderState {
    use runahead_wire::values::{
        BlendFactor, ClampReadColor, CompareOp, CullFace, FrontFace, HintMode, LogicOp, PointSpriteOrigin,
        PolygonMode, ProvokingVertex, StencilOp,
    };
    let mut state = RenderState {
        line_width: 1.0,
        point_size: 1.0,
        patch_vertices: 3,
        patch_outer: [1.0; 4],
        patch_inner: [1.0; 2],
        logic_op: LogicOp::Copy.raw(),
        depth_func: CompareOp::Less.raw(),
        depth_mask: 1,
        clear_depth: 1.0,
        sample_coverage_value: 1.0,
        sample_mask_value: u32::MAX,
        stencil_front_func: CompareOp::Always.raw(),
        stencil_front_value_mask: u32::MAX,
        stencil_front_write_mask: u32::MAX,
        stencil_front_fail: StencilOp::Keep.raw(),
        stencil_front_depth_fail: StencilOp::Keep.raw(),
        stencil_front_pass: StencilOp::Keep.raw(),
        stencil_back_func: CompareOp::Always.raw(),
        stencil_back_value_mask: u32::MAX,
        stencil_back_write_mask: u32::MAX,
        stencil_back_fail: StencilOp::Keep.raw(),
        stencil_back_depth_fail: StencilOp::Keep.raw(),
        stencil_back_pass: StencilOp::Keep.raw(),
        cull_mode: CullFace::Back.raw(),
        front_face: FrontFace::CounterClockwise.raw(),
        provoking_vertex: ProvokingVertex::Last.raw(),
        hint_line_smooth: HintMode::DontCare.raw(),
        hint_polygon_smooth: HintMode::DontCare.raw(),
        hint_texture_compression: HintMode::DontCare.raw(),
        hint_fragment_shader_derivative: HintMode::DontCare.raw(),
        point_fade_threshold_size: 1.0,
        point_sprite_origin: PointSpriteOrigin::UpperLeft.raw(),
        clamp_read_color: ClampReadColor::FixedOnly.raw(),
        polygon_mode_front: PolygonMode::Fill.raw(),
        polygon_mode_back: PolygonMode::Fill.raw(),
        dither: 1,
        multisample: 1,
        ..RenderState::default()
    };
    for blend in &mut state.blend {
        blend.src_rgb = BlendFactor::One.raw();
        blend.dst_rgb = BlendFactor::Zero.raw();
        blend.src_alpha = BlendFactor::One.raw();
        blend.dst_alpha = BlendFactor::Zero.raw();
    }
    for mask in &mut state.color_masks {
        *mask = runahead_wire::payload::ColorMask { red: 1, green: 1, blue: 1, alpha: 1 };
    }
    for range in &mut state.depth_ranges {
        range.far = 1.0;
    }
    state
}
