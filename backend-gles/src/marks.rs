//! Marks for whoever looks at the native stream: groups, messages, names of objects.

use runahead_core::{backend::Scope, storage::Storage};
use runahead_wire::{Handle, handle::Kind, payload::DebugMark, values::DebugMarkOp};

use glow::HasContext;

use crate::{
    Gles,
    gl::{Gl, gl},
};

/// Groups that every driver with marks can hold open (OpenGL ES 3.2 table 21.63), less the one that is there always.
const MOST_OPEN: u32 = 63;
/// Bytes of a text that every driver takes, with the NUL at its end (the same table, and 20.9 for labels).
const MOST_TEXT: usize = 255;

/// The marks of a native context.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// Groups that the driver holds open, and those that are beyond what it can.
    open: u32,
    beyond: u32,
}

impl Marks {
    pub(crate) fn mark<S: Storage>(
        &mut self,
        gl: &Gl,
        scope: &Scope<'_, Gles, S>,
        mark: &DebugMark,
        text: &[u8],
    ) {
        if !gl.extended.able.debug {
            return;
        }
        let text = String::from_utf8_lossy(text);
        let text = text.trim_end_matches('\0');
        let text = text.get(..text.floor_char_boundary(MOST_TEXT)).unwrap_or_default();
        match mark.op() {
            Some(DebugMarkOp::Push) if self.open < MOST_OPEN => {
                self.open += 1;
                gl!(gl, push_debug_group(glow::DEBUG_SOURCE_APPLICATION, mark.id, text));
            }
            Some(DebugMarkOp::Push) => self.beyond += 1,
            Some(DebugMarkOp::Pop) if self.beyond > 0 => self.beyond -= 1,
            Some(DebugMarkOp::Pop) if self.open > 0 => {
                self.open -= 1;
                gl!(gl, pop_debug_group());
            }
            Some(DebugMarkOp::Insert) => {
                let (source, kind, severity) = (
                    glow::DEBUG_SOURCE_APPLICATION,
                    glow::DEBUG_TYPE_MARKER,
                    glow::DEBUG_SEVERITY_NOTIFICATION,
                );
                gl!(gl, debug_message_insert(source, kind, mark.id, severity, text));
            }
            Some(DebugMarkOp::Label) => label(gl, scope, mark, text),
            // One that nothing opened, and what is not for the driver.
            Some(DebugMarkOp::Pop | DebugMarkOp::State) | None => {}
        }
    }
}

/// Names an object that the driver has already. What has no twin yet goes without: a name is no reason to make one.
fn label<S: Storage>(gl: &Gl, scope: &Scope<'_, Gles, S>, mark: &DebugMark, text: &str) {
    let objects = &*scope.objects;
    let object: Handle = mark.object;
    macro_rules! named {
        ($table:ident) => {
            objects.$table.get(object).and_then(|object| object.twin.named.name).map(|name| name.0.get())
        };
    }
    let named = match mark.object_kind() {
        Some(Kind::Buffer) => named!(buffers).map(|name| (glow::BUFFER, name)),
        Some(Kind::Texture) => named!(textures).map(|name| (glow::TEXTURE, name)),
        Some(Kind::Renderbuffer) => named!(renderbuffers).map(|name| (glow::RENDERBUFFER, name)),
        Some(Kind::Framebuffer) => named!(framebuffers).map(|name| (glow::FRAMEBUFFER, name)),
        Some(Kind::SamplerCso) => named!(samplers).map(|name| (glow::SAMPLER, name)),
        Some(Kind::ShaderCso) => named!(shaders).map(|name| (glow::PROGRAM, name)),
        _ => None,
    };
    if let Some((kind, name)) = named {
        gl!(gl, object_label(kind, name, Some(text)));
    }
}
