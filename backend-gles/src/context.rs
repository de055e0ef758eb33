//! The native context of a share group, and what of its state is known.

use runahead_wire::Handle;

use crate::{
    bringup::Pointer,
    buffers::Bound,
    draw::Several,
    framebuffers::Framebuffers,
    gl::{Gl, gl},
    marks::Marks,
    programs::Programs,
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
    pub(crate) render: Render,
    pub(crate) bound: Bound,
    pub(crate) vertices: Vertices,
    pub(crate) several: Several,
    pub(crate) units: Units,
    pub(crate) unpack: Unpack,
    pub(crate) programs: Programs,
    pub(crate) framebuffers: Framebuffers,
    pub(crate) marks: Marks,
    /// Units of the program that drew last: the program, a serial, and the list.
    pub(crate) wanted_units: (Handle, u64, Vec<(u32, u32)>),
}

impl Native {
    /// Of a context that is new.
    pub(crate) fn new(home: u32, group: u64, handle: Pointer, attributes: u32, units: u32) -> Self {
        Self {
            home,
            group,
            handle,
            contexts: 0,
            render: Render::default(),
            bound: Bound::default(),
            vertices: Vertices::new(attributes as usize),
            several: Several::default(),
            units: Units::new(units as usize),
            unpack: Unpack::default(),
            programs: Programs::default(),
            framebuffers: Framebuffers::default(),
            marks: Marks::default(),
            wanted_units: (Handle::NULL, 0, Vec::new()),
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
