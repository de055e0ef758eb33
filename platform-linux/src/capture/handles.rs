//! The handles of a record, and what each of them names: for whoever gives a stream's objects other slots.
//!
//! Where handles lie is the catalogue's knowledge, and of which kind they are is the meaning of the members, which is
//! said here once for each. A test holds this table against every row.

use std::sync::OnceLock;

use runahead_wire::{
    Handle,
    handle::Kind,
    payload::{Shape, StructInfo},
    pipe::{Op, ROWS},
    values::{InvalidateTarget, ResourceTarget, SurfaceKind},
};

use super::layout;

/// How the kind of a handle is known.
#[derive(Clone, Copy, Debug)]
enum Names {
    /// Always the same.
    Always(Kind),
    /// Another member is the number of the kind.
    Kind(&'static str),
    /// Another member is the target of a resource.
    Target(&'static str),
    /// Another member says what is attached.
    Surface(&'static str),
    /// Another member says what is invalidated.
    Invalidated(&'static str),
}

use Names::Always;

/// Members that are handles, by struct.
const NAMES: &[(&str, &str, Names)] = &[
    ("HandleOnly", "handle", Names::Kind("kind")),
    ("DebugMark", "object", Names::Kind("object_kind")),
    ("ResourceDesc", "resource", Names::Target("target")),
    ("ResourceDesc", "view_of", Always(Kind::Texture)),
    ("ResourceDesc", "buffer_for_tex_buffer", Always(Kind::Buffer)),
    ("SubData", "resource", Names::Target("target")),
    ("ReadbackInfo", "resource", Names::Target("target")),
    ("CopyRegion", "src", Names::Target("src_target")),
    ("CopyRegion", "dst", Names::Target("dst_target")),
    ("Surface", "resource", Names::Surface("kind")),
    ("Invalidate", "resource", Names::Invalidated("what")),
    ("BufferRange", "resource", Always(Kind::Buffer)),
    ("FlushRange", "resource", Always(Kind::Buffer)),
    ("Readback", "resource", Always(Kind::Buffer)),
    ("CopyBuffer", "src", Always(Kind::Buffer)),
    ("CopyBuffer", "dst", Always(Kind::Buffer)),
    ("ClearBuffer", "resource", Always(Kind::Buffer)),
    ("ReadbackToBuffer", "dst", Always(Kind::Buffer)),
    ("VertexBuffer", "resource", Always(Kind::Buffer)),
    ("IndexBuffer", "resource", Always(Kind::Buffer)),
    ("IndirectBuffers", "draw_indirect", Always(Kind::Buffer)),
    ("IndirectBuffers", "parameter", Always(Kind::Buffer)),
    ("DrawInfo", "index_resource", Always(Kind::Buffer)),
    ("DrawIndirect", "buffer", Always(Kind::Buffer)),
    ("DrawIndirect", "parameter_buffer", Always(Kind::Buffer)),
    ("GridInfo", "indirect_buffer", Always(Kind::Buffer)),
    ("ImageView", "resource", Always(Kind::Texture)),
    ("ImageBind", "resource", Always(Kind::Texture)),
    ("MipPlan", "resource", Always(Kind::Texture)),
    ("ClearTexture", "resource", Always(Kind::Texture)),
    ("TextureParams", "resource", Always(Kind::Texture)),
    ("SamplerView", "texture", Always(Kind::Texture)),
    ("BoundView", "texture", Always(Kind::Texture)),
    ("CopyFromFramebuffer", "dst", Always(Kind::Texture)),
    ("SharedImage", "texture", Always(Kind::Texture)),
    ("FramebufferState", "fbo", Always(Kind::Framebuffer)),
    ("Clear", "fbo", Always(Kind::Framebuffer)),
    ("Blit", "read_fbo", Always(Kind::Framebuffer)),
    ("Blit", "draw_fbo", Always(Kind::Framebuffer)),
    ("RenderStateDesc", "cso", Always(Kind::RenderStateCso)),
    ("RenderStateDesc", "base_cso", Always(Kind::RenderStateCso)),
    ("BindRenderState", "cso", Always(Kind::RenderStateCso)),
    ("VertexElements", "cso", Always(Kind::VertexElementsCso)),
    ("SamplerDesc", "cso", Always(Kind::SamplerCso)),
    ("TextureParams", "builtin_sampler", Always(Kind::SamplerCso)),
    // The elements of a tail are handles themselves.
    ("BindSamplerStates", "samplers", Always(Kind::SamplerCso)),
    ("SamplerView", "cso", Always(Kind::SamplerViewCso)),
    ("BoundView", "view", Always(Kind::SamplerViewCso)),
    ("ProgramDesc", "cso", Always(Kind::ShaderCso)),
    ("ProgramBindings", "cso", Always(Kind::ShaderCso)),
    ("GlobalConstants", "shader_cso", Always(Kind::ShaderCso)),
    ("StorageBlockBinding", "shader_cso", Always(Kind::ShaderCso)),
    ("StreamOutputBegin", "capture_program", Always(Kind::ShaderCso)),
    ("FenceWait", "fence", Always(Kind::Fence)),
    ("QueryDesc", "query", Always(Kind::Query)),
    ("QueryResultRequest", "query", Always(Kind::Query)),
    ("ConditionalRender", "query", Always(Kind::Query)),
];

/// A handle in a payload or an element.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    names: Names,
    /// The member that says more, if one does.
    by: usize,
    by_size: usize,
}

#[derive(Clone, Debug, Default)]
struct Row {
    payload_size: usize,
    payload: Vec<Place>,
    tails: Vec<Vec<Place>>,
}

static ROW_PLACES: OnceLock<Vec<Row>> = OnceLock::new();

fn rule(owner: &str, member: &str) -> Option<Names> {
    NAMES.iter().find(|(of, name, _)| *of == owner && *name == member).map(|(_, _, names)| *names)
}

/// Adds the handles of a struct that begins at `base`.
fn walk(info: &StructInfo, base: usize, places: &mut Vec<Place>) {
    for member in info.members {
        shape(info, member.name, &member.shape, base, base + member.offset, places);
    }
}

fn shape(owner: &StructInfo, member: &str, what: &Shape, base: usize, at: usize, places: &mut Vec<Place>) {
    match what {
        Shape::Handle => {
            let names = rule(owner.name, member).unwrap_or(Always(Kind::None));
            let by = match names {
                Always(_) => None,
                Names::Kind(by) | Names::Target(by) | Names::Surface(by) | Names::Invalidated(by) => {
                    owner.members.iter().find(|member| member.name == by)
                }
            };
            let (by, by_size) = by.map_or((0, 0), |by| (base + by.offset, by.size));
            places.push(Place { at, names, by, by_size });
        }
        Shape::Struct(info) => walk(info, at, places),
        Shape::Array { count, size, item } => {
            for number in 0..*count {
                shape(owner, member, item, base, at + number * size, places);
            }
        }
        Shape::Plain { .. } | Shape::Value { .. } | Shape::Blob => {}
    }
}

fn row(op: u16) -> Option<&'static Row> {
    let all = ROW_PLACES.get_or_init(|| {
        let of = |info: &runahead_wire::catalogue::RowInfo| {
            let mut row = Row::default();
            if let Some(payload) = info.payload {
                row.payload_size = payload.size;
                walk(payload, 0, &mut row.payload);
            }
            for tail in info.tails {
                let mut places = Vec::new();
                match &tail.element {
                    Shape::Struct(element) => walk(element, 0, &mut places),
                    Shape::Handle => {
                        let names = rule(info.name, tail.name).unwrap_or(Always(Kind::None));
                        places.push(Place { at: 0, names, by: 0, by_size: 0 });
                    }
                    _ => {}
                }
                row.tails.push(places);
            }
            row
        };
        ROWS.iter().map(of).collect()
    });
    all.get(usize::from(op).wrapping_sub(1))
}

fn number(bytes: &[u8], at: usize, size: usize) -> u32 {
    let bytes = bytes.get(at..at + size).unwrap_or_default();
    bytes.iter().take(4).rev().fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

impl Place {
    /// What the handle names, in the bytes that its members lie in.
    fn kind(&self, bytes: &[u8]) -> Kind {
        let by = number(bytes, self.by, self.by_size);
        let of_target = |target| match target {
            Some(ResourceTarget::Buffer) => Kind::Buffer,
            Some(ResourceTarget::Renderbuffer) => Kind::Renderbuffer,
            _ => Kind::Texture,
        };
        match self.names {
            Always(kind) => kind,
            Names::Kind(_) => Kind::from_raw(by).unwrap_or(Kind::None),
            Names::Target(_) => of_target(ResourceTarget::from_raw(by)),
            Names::Surface(_) => match SurfaceKind::from_raw(by) {
                Some(SurfaceKind::Texture) => Kind::Texture,
                Some(SurfaceKind::Renderbuffer) => Kind::Renderbuffer,
                _ => Kind::None,
            },
            Names::Invalidated(_) => match InvalidateTarget::from_raw(by) {
                Some(InvalidateTarget::Buffer) => Kind::Buffer,
                Some(InvalidateTarget::Texture) => Kind::Texture,
                Some(InvalidateTarget::Framebuffer) => Kind::Framebuffer,
                _ => Kind::None,
            },
        }
    }

    fn change(&self, bytes: &mut [u8], change: &mut impl FnMut(Kind, Handle) -> Handle) {
        let handle = Handle { slot: number(bytes, self.at, 4), generation: number(bytes, self.at + 4, 4) };
        // Slot 0 is no object, or the framebuffer of a surface.
        if handle.slot == 0 {
            return;
        }
        let new = change(self.kind(bytes), handle);
        if let Some(place) = bytes.get_mut(self.at..self.at + 8) {
            place[..4].copy_from_slice(&new.slot.to_le_bytes());
            place[4..].copy_from_slice(&new.generation.to_le_bytes());
        }
    }
}

/// The object that a record is about: the first handle of its payload; `None` where that is none.
#[must_use]
pub fn subject(record: &[u8]) -> Option<(Kind, Handle)> {
    let head = layout::header(record)?;
    let payload = record.get(layout::payload_at(head.flags)..)?;
    let place = row(head.op)?.payload.first()?;
    let handle = Handle { slot: number(payload, place.at, 4), generation: number(payload, place.at + 4, 4) };
    (handle.slot != 0).then(|| (place.kind(payload), handle))
}

/// Whether records of this row make an object.
#[must_use]
pub const fn makes(op: Op) -> bool {
    matches!(
        op,
        Op::ResourceCreate
            | Op::FenceCreate
            | Op::QueryCreate
            | Op::CreateRenderState
            | Op::CreateVertexElements
            | Op::CreateSamplerState
            | Op::CreateSamplerView
            | Op::CreateShaderState
    )
}

/// Whether they make one that is not there yet: a framebuffer is made by the first record of its state.
#[must_use]
pub const fn defines(op: Op) -> bool {
    makes(op) || matches!(op, Op::SetFramebufferState)
}

/// Whether they end one.
#[must_use]
pub const fn ends(op: Op) -> bool {
    matches!(
        op,
        Op::ResourceDestroy
            | Op::FenceDestroy
            | Op::QueryDestroy
            | Op::DeleteRenderState
            | Op::DeleteVertexElements
            | Op::DeleteSamplerState
            | Op::DeleteSamplerView
            | Op::DeleteShaderState
            | Op::ObjectDeath
    )
}

/// Gives each handle of a valid record to `change`, in the order in which they lie, and puts its answer there instead.
pub fn replace(record: &mut [u8], mut change: impl FnMut(Kind, Handle) -> Handle) {
    let Some(head) = layout::header(record) else { return };
    let (Some(row), Some(info)) = (row(head.op), ROWS.get(usize::from(head.op).wrapping_sub(1))) else {
        return;
    };
    let begin = layout::payload_at(head.flags);
    let mut end = begin + row.payload_size;
    let Some(payload) = record.get_mut(begin..end) else { return };
    let counts: Vec<u32> = info.tails.iter().map(|tail| (tail.declared)(payload).unwrap_or(0)).collect();
    for place in &row.payload {
        place.change(payload, &mut change);
    }
    for ((tail, places), count) in info.tails.iter().zip(&row.tails).zip(counts) {
        let at = end.next_multiple_of(tail.align.max(1));
        end = at + tail.size * count as usize;
        let Some(elements) = record.get_mut(at..end) else { return };
        if !places.is_empty() {
            for element in elements.chunks_exact_mut(tail.size.max(1)) {
                places.iter().for_each(|place| place.change(element, &mut change));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every handle of every row has its kind here, and nothing else has.
    #[test]
    fn every_handle_of_the_catalogue_has_a_rule() {
        let mut used = Vec::new();
        fn check(info: &StructInfo, used: &mut Vec<(&'static str, String)>) {
            for member in info.members {
                let mut item = &member.shape;
                while let Shape::Array { item: inner, .. } = item {
                    item = inner;
                }
                match item {
                    Shape::Handle => {
                        let names = rule(info.name, member.name);
                        let names =
                            names.unwrap_or_else(|| panic!("{}.{} has no rule", info.name, member.name));
                        if let Names::Kind(by)
                        | Names::Target(by)
                        | Names::Surface(by)
                        | Names::Invalidated(by) = names
                        {
                            assert!(
                                info.members.iter().any(|member| member.name == by),
                                "{}.{by}",
                                info.name
                            );
                        }
                        used.push((info.name, member.name.to_owned()));
                    }
                    Shape::Struct(inner) => check(inner, used),
                    _ => {}
                }
            }
        }
        for row in ROWS {
            row.payload.into_iter().for_each(|payload| check(payload, &mut used));
            for tail in row.tails {
                match &tail.element {
                    Shape::Struct(element) => check(element, &mut used),
                    Shape::Handle => {
                        assert!(
                            rule(row.name, tail.name).is_some(),
                            "{}.{} has no rule",
                            row.name,
                            tail.name
                        );
                        used.push((row.name, tail.name.to_owned()));
                    }
                    _ => {}
                }
            }
        }
        for (owner, member, _) in NAMES {
            assert!(
                used.iter().any(|(of, name)| of == owner && name == member),
                "{owner}.{member} is nowhere"
            );
        }
        assert!(rule("HandleOnly", "kind").is_none(), "negative control");
    }
}
