//! The native context of a share group, and what of its state is known.

use runahead_wire::Handle;

use crate::{
    bringup::Pointer,
    buffers::Bound,
    capture::Captures,
    draw::Several,
    framebuffers::Framebuffers,
    gl::{Gl, gl},
    images::Images,
    marks::Marks,
    points::Points,
    programs::{Programs, Uses},
    queries::ActiveQueries,
    state::Render,
    textures::{Units, Unpack},
    vertex::Vertices,
};

use glow::HasContext;

/// A native context. Client contexts of the share group take turns in it; every gate compares serials that are the
/// session's, so that it makes no difference which of them set what is there.
#[derive(Debug)]
pub(crate) struct Native {
    /// Number of the native context; twins remember theirs.
    pub(crate) home: u32,
    /// Token of the share group.
    pub(crate) group: u64,
    pub(crate) handle: Pointer,
    /// Client contexts in it.
    pub(crate) contexts: u32,
    /// The context that drew last and the serial of then, while nothing but draws came since.
    pub(crate) steady: Option<(u64, u64)>,
    pub(crate) render: Render,
    pub(crate) bound: Bound,
    pub(crate) vertices: Vertices,
    pub(crate) several: Several,
    pub(crate) units: Units,
    pub(crate) unpack: Unpack,
    pub(crate) programs: Programs,
    pub(crate) framebuffers: Framebuffers,
    pub(crate) points: Points,
    pub(crate) images: Images,
    pub(crate) captures: Captures,
    pub(crate) queries: ActiveQueries,
    /// What the program of the last verb reads: the program, a serial, and the lists.
    pub(crate) uses: (Handle, u64, Uses),
    /// Vertices of a patch.
    pub(crate) patch: u32,
    pub(crate) marks: Marks,
}

impl Native {
    /// Of a context that is new.
    pub(crate) fn new(home: u32, group: u64, handle: Pointer, attributes: u32, units: u32) -> Self {
        Self {
            home,
            group,
            handle,
            contexts: 0,
            steady: None,
            render: Render::default(),
            bound: Bound::default(),
            vertices: Vertices::new(attributes as usize),
            several: Several::default(),
            units: Units::new(units as usize),
            unpack: Unpack::default(),
            programs: Programs::default(),
            framebuffers: Framebuffers::default(),
            points: Points::default(),
            images: Images::default(),
            captures: Captures::default(),
            queries: ActiveQueries::default(),
            uses: (Handle::NULL, 0, Uses::default()),
            // OpenGL ES 3.2 table 21.41.
            patch: 3,
            marks: Marks::default(),
        }
    }

    /// What is set once, when it is current for the first time.
    pub(crate) fn start(gl: &Gl) -> Result<(), String> {
        // Client contexts have no vertex array 0 with client memory: one that is there always.
        let array = gl!(gl, create_vertex_array())?;
        gl!(gl, bind_vertex_array(Some(array)));
        gl!(gl, pixel_store_i32(glow::PACK_ALIGNMENT, 1));
        Ok(())
    }
}
