use std::{boxed::Box, collections::BTreeMap, string::ToString, vec, vec::Vec};

use runahead_wire::{
    Handle,
    payload::{
        BoundView, BufferRange, ImageView, ProgramSamplerUnit, ProgramStorageOverride, QueryDesc,
        ResourceDesc, SamplerParameters, SamplerView, Shape, Surface, TextureParams, VertexAttrib,
        VertexBindingPoint, VertexBuffer,
    },
    payload::{FramebufferState, ProgramDesc},
    pipe::Op,
    values::SurfaceKind,
    zerocopy::IntoBytes,
};

use super::*;
use crate::tracker::Family;

/// Contents of objects that all have slot and generation 1 to 9 of their kind.
struct World {
    attributes: [VertexAttrib; 2],
    points: [VertexBindingPoint; 2],
}

fn known(handle: Handle) -> Option<Handle> {
    (!handle.is_null()).then_some(handle)
}

impl Contents for World {
    fn buffer(&self, buffer: Handle) -> Option<ResourceDesc> {
        known(buffer).map(|resource| ResourceDesc { resource, buf_size: 64, ..ResourceDesc::default() })
    }

    fn texture(&self, texture: Handle) -> Option<(ResourceDesc, TextureParams)> {
        known(texture).map(|resource| {
            let params =
                TextureParams { resource, builtin_sampler: Handle::new(4, 1), ..TextureParams::default() };
            (ResourceDesc { resource, width: 8, ..ResourceDesc::default() }, params)
        })
    }

    fn renderbuffer(&self, renderbuffer: Handle) -> Option<ResourceDesc> {
        known(renderbuffer).map(|resource| ResourceDesc { resource, height: 8, ..ResourceDesc::default() })
    }

    fn framebuffer(&self, framebuffer: Handle) -> Option<FramebufferState> {
        let surface = |kind: SurfaceKind, slot| Surface {
            resource: Handle::new(slot, 1),
            kind: kind.raw8(),
            ..Surface::default()
        };
        known(framebuffer).map(|fbo| {
            let mut state = FramebufferState { fbo, target: 2, ..FramebufferState::default() };
            state.color[2] = surface(SurfaceKind::Texture, 6);
            state.depth = surface(SurfaceKind::Renderbuffer, 7);
            state
        })
    }

    fn vertex_elements(&self, layout: Handle) -> Option<LayoutContents<'_>> {
        known(layout).map(|_| LayoutContents { attributes: &self.attributes, points: &self.points })
    }

    fn sampler(&self, sampler: Handle) -> Option<SamplerParameters> {
        known(sampler).map(|_| SamplerParameters { max_lod: 4.0, ..SamplerParameters::default() })
    }

    fn sampler_view(&self, view: Handle) -> Option<SamplerView> {
        known(view).map(|cso| SamplerView { cso, num_levels: 3, ..SamplerView::default() })
    }

    fn program(&self, program: Handle) -> Option<ProgramContents<'_>> {
        known(program).map(|cso| ProgramContents {
            desc: ProgramDesc { cso, stage_mask: 17, ..ProgramDesc::default() },
            constants: &[1, 2, 3, 4],
            blocks: &[5, -6],
            sampler_units: &[ProgramSamplerUnit { location: 1, unit: 2 }],
            storage: const { &[ProgramStorageOverride { name_offset: 0, name_size: 4, binding: 1, _pad: 0 }] },
            names: b"name",
        })
    }

    fn query(&self, query: Handle) -> Option<QueryDesc> {
        known(query).map(|query| QueryDesc { query, kind: 1, stream: 0 })
    }
}

fn world() -> World {
    World { attributes: Default::default(), points: Default::default() }
}

fn object(slot: u32) -> Handle {
    Handle::new(slot, 1)
}

/// A state in which every window has points and every kind of object is named.
fn state() -> Box<State> {
    let mut state = Box::new(State::default());
    let resource = object(1);
    state.vertex_elements = object(2);
    assert!(state.vertex_buffers.set(1, &[VertexBuffer { resource, ..VertexBuffer::default() }; 2]));
    state.index_buffer.resource = object(2);
    state.indirect_buffers.draw_indirect = object(3);
    let bound = BoundView { view: object(5), texture: object(5), ..BoundView::default() };
    assert!(state.sampler_views.set(0, &[bound, BoundView::default()]));
    assert!(state.sampler_states.set(0, &[Handle::NULL, object(9)]));
    assert!(state.shader_images.set(3, &[ImageView { resource: object(8), ..ImageView::default() }]));
    for class in &mut state.shader_buffers {
        assert!(class.buffers.set(2, &[BufferRange { resource, offset: 16, size: 32 }]));
    }
    (state.shader, state.draw_program, state.dispatch_program) = (object(1), object(2), object(3));
    (state.draw_framebuffer, state.read_framebuffer) = (object(3), Handle::DEFAULT_FRAMEBUFFER);
    state.conditional_render.query = object(4);
    state
}

/// What the server says of a snapshot, changed or not.
fn compared(bytes: &[u8], state: &State, op: Op) -> Result<usize, Difference> {
    compare(Snapshot::from_bytes(bytes), state, &world(), op, 17)
}

fn snapshot(state: &State, verb: Verb) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 16];
    Snapshot::take(&mut buffer, state, &world(), verb).expect("it fits").as_bytes().to_vec()
}

/// Fields as they are visited: name, index, bytes and what an item is made of.
fn fields(state: &State, verb: Verb) -> Vec<(Name, Option<u32>, usize, &'static Shape)> {
    let mut fields = Vec::new();
    visit(state, &world(), verb, &mut |field| {
        fields.push((field.name, field.index, field.bytes.len(), field.item));
        Ok::<(), ()>(())
    })
    .unwrap();
    fields
}

#[test]
fn what_is_the_same_is_compared_and_counted() {
    let state = state();
    for (op, verb) in [(Op::DrawVbo, Verb::Draw), (Op::LaunchGrid, Verb::Dispatch), (Op::Clear, Verb::Clear)]
    {
        let members = compared(&snapshot(&state, verb), &state, op).unwrap();
        assert!(members > fields(&state, verb).len(), "{op:?}: {members}");
    }
    assert_eq!(compared(&[], &state, Op::Flush).unwrap(), 0);
}

#[test]
fn every_name_is_visited() {
    let state = state();
    let seen: Vec<_> = fields(&state, Verb::Draw).into_iter().map(|(name, ..)| name).collect();
    for name in Name::ALL {
        assert_eq!(seen.contains(name), *name != Name::Snapshot, "{name:?}");
    }
}

#[test]
fn the_program_of_the_verb_is_looked_into() {
    let state = state();
    let program = |verb| {
        let fields = fields(&state, verb);
        fields.iter().find(|(name, ..)| *name == Name::ProgramDesc).map(|(_, index, ..)| index.unwrap())
    };
    assert_eq!(program(Verb::Draw), Some(2));
    assert_eq!(program(Verb::Dispatch), Some(3));
    assert_eq!(program(Verb::Clear), None);
}

/// Whether a byte of items is content, told another way than the comparator does: by marking all content bytes
/// of an item.
fn content(shape: &Shape) -> Vec<bool> {
    match shape {
        Shape::Struct(info) => {
            let mut bytes = vec![false; info.size];
            for member in info.members.iter().filter(|member| !member.name.starts_with('_')) {
                bytes[member.offset..][..member.size].copy_from_slice(&content(&member.shape));
            }
            bytes
        }
        Shape::Array { count, item, .. } => content(item).repeat(*count),
        Shape::Blob => vec![false; 24],
        Shape::Handle => vec![true; 8],
        Shape::Value { size, .. } => vec![true; *size],
        Shape::Plain { name } => {
            let size = BTreeMap::from([
                ("u8", 1),
                ("i8", 1),
                ("u16", 2),
                ("u32", 4),
                ("i32", 4),
                ("u64", 8),
                ("f32", 4),
            ]);
            vec![true; size[name]]
        }
    }
}

#[test]
fn every_byte_of_content_counts_and_no_other_does() {
    let state = state();
    for (op, verb) in [(Op::DrawVbo, Verb::Draw), (Op::LaunchGrid, Verb::Dispatch)] {
        let mut bytes = snapshot(&state, verb);
        let mut at = 0;
        for (name, index, len, shape) in fields(&state, verb) {
            at += 12;
            let content = content(shape);
            for byte in at..at + len {
                bytes[byte] ^= 1;
                let outcome = compared(&bytes, &state, op);
                bytes[byte] ^= 1;
                if content[(byte - at) % content.len()] {
                    let difference = outcome.expect_err("a byte of content differs");
                    assert_eq!((difference.name, difference.index), (name, index), "{difference}");
                } else {
                    assert!(outcome.is_ok(), "{name:?} byte {}: {outcome:?}", byte - at);
                }
            }
            at += len;
        }
        assert_eq!(at, bytes.len());
    }
}

#[test]
fn what_a_client_leaves_out_or_has_too_much_is_a_difference() {
    let state = state();
    let bytes = snapshot(&state, Verb::Draw);
    let mut at = 0;
    for (name, index, len, _) in fields(&state, Verb::Draw) {
        let entry = at..at + 12 + len;
        at = entry.end;
        let without = [&bytes[..entry.start], &bytes[entry.end..]].concat();
        let difference = compared(&without, &state, Op::DrawVbo).expect_err("a field is missing");
        let twice = [&bytes[..entry.end], &bytes[entry.start..]].concat();
        let repeated = compared(&twice, &state, Op::DrawVbo).expect_err("there is a field too many");
        // Where a point follows that names the same object, it is the second one that is missing.
        let again = bytes[entry.end..].starts_with(&bytes[entry.clone()]);
        assert!(again || (difference.name, difference.index) == (name, index), "{difference}");
        assert!(again || difference.to_string().contains("client nothing"), "{difference}");
        assert!(again || (repeated.name, repeated.index) == (name, index), "{repeated}");
        assert!(repeated.to_string().ends_with("server nothing"), "{repeated}");
    }
}

#[test]
fn a_snapshot_that_cannot_be_read_is_a_difference() {
    let state = state();
    let bytes = snapshot(&state, Verb::Draw);
    for cut in (0..bytes.len()).step_by(7) {
        assert!(compared(&bytes[..cut], &state, Op::DrawVbo).is_err(), "cut at {cut}");
    }
    let garbage = compared(&[bytes.as_slice(), &[0xFF; 12]].concat(), &state, Op::DrawVbo).unwrap_err();
    assert_eq!(garbage.name, Name::Snapshot);
    assert_eq!(
        garbage.to_string(),
        "snapshot@DrawVbo (record 17): client 0xffffffffffffffff... (12 bytes), server nothing"
    );
}

/// How the difference prints that a change of the server's state makes.
fn printed(change: impl Fn(&mut State), op: Op) -> std::string::String {
    let client = state();
    let mut server = client.clone();
    change(&mut server);
    let bytes = snapshot(&client, Verb::of(op).expect("a verb"));
    compare(Snapshot::from_bytes(&bytes), &server, &world(), op, 17).expect_err("they differ").to_string()
}

#[test]
fn a_difference_names_field_verb_record_and_values() {
    let cases = [
        (
            printed(|state| state.render.depth_func = 3, Op::DrawVbo),
            "render.depth_func@DrawVbo (record 17): client 1, server 3",
        ),
        (
            printed(|state| state.render.blend[2].dst_rgb = 4, Op::Clear),
            "render.blend[2].dst_rgb@Clear (record 17): client 0, server 4",
        ),
        (
            printed(|state| state.render.viewports[1].width = -0.0, Op::DrawVbo),
            "render.viewports[1].width@DrawVbo (record 17): client 0.0 (0x0), server -0.0 (0x80000000)",
        ),
        (
            printed(|state| state.render.stencil_back_ref = -2, Op::DrawVbo),
            "render.stencil_back_ref@DrawVbo (record 17): client 0, server -2",
        ),
        (
            printed(
                |state| state.shader_buffers[1].buffers.covered_mut()[0].offset = 1 << 40,
                Op::LaunchGrid,
            ),
            "storage_buffers[2].offset@LaunchGrid (record 17): client 16, server 1099511627776",
        ),
        (
            printed(|state| state.shader_buffers[2].writable[1] = 9, Op::DrawVbo),
            "atomic_buffers.writable[1]@DrawVbo (record 17): client 0, server 9",
        ),
        (
            printed(|state| state.vertex_elements = Handle::new(2, 7), Op::DrawVbo),
            "vertex_elements@DrawVbo (record 17): client 2:1, server 2:7",
        ),
        (
            printed(|state| state.sampler_views.cover(4), Op::DrawVbo),
            "sampler_views.count@DrawVbo (record 17): client 2, server 4",
        ),
        (
            printed(|state| state.index_buffer.resource = object(9), Op::DrawVbo),
            "index_buffer.resource@DrawVbo (record 17): client 2:1, server 9:1",
        ),
        (
            printed(|state| state.stream_output = 5, Op::DrawVbo),
            "stream_output@DrawVbo (record 17): client 0, server 5",
        ),
        (
            printed(|state| state.attrib_defaults[3].int_view[1] = 5, Op::DrawVbo),
            "attrib_defaults[3].int_view[1]@DrawVbo (record 17): client 0, server 5",
        ),
    ];
    for (printed, expected) in cases {
        assert_eq!(printed, expected);
    }
}

#[test]
fn contents_are_named_by_object_and_place() {
    let state = state();
    let bytes = snapshot(&state, Verb::Draw);
    let mut other = world();
    other.attributes[1].stride = 12;
    let difference = compare(Snapshot::from_bytes(&bytes), &state, &other, Op::DrawVbo, 2).unwrap_err();
    assert_eq!(
        difference.to_string(),
        "vertex_elements.attributes[2][1].stride@DrawVbo (record 2): client 0, server 12"
    );

    // Other lengths.
    let at = {
        let mut at = 0;
        let fields = fields(&state, Verb::Draw);
        let before = fields.iter().take_while(|(name, ..)| *name != Name::ProgramConstants);
        before.for_each(|(_, _, len, _)| at += 12 + len);
        at
    };
    let mut longer = bytes.clone();
    longer.insert(at + 12, 0);
    longer[at + 8..at + 12].copy_from_slice(5_u32.as_bytes());
    let difference = compared(&longer, &state, Op::DrawVbo).unwrap_err();
    assert_eq!(difference.to_string(), "program.constants[2].count@DrawVbo (record 17): client 5, server 4");
    let mut other = bytes.clone();
    other[at + 12 + 2] = 0xAB;
    let difference = compared(&other, &state, Op::DrawVbo).unwrap_err();
    assert_eq!(difference.to_string(), "program.constants[2][2]@DrawVbo (record 17): client 171, server 3");
    assert_eq!(difference.family, Family::Programs);
}

#[test]
fn the_target_of_a_framebuffers_last_record_is_no_state() {
    let client = state();
    let mut server = client.clone();
    server.default_framebuffer.target = 1;
    assert!(compared(&snapshot(&client, Verb::Draw), &server, Op::DrawVbo).is_ok());
    server.default_framebuffer.samples = 1;
    assert!(compared(&snapshot(&client, Verb::Draw), &server, Op::DrawVbo).is_err());
}

#[test]
fn a_snapshot_says_how_much_room_it_takes() {
    let state = state();
    let len = snapshot(&state, Verb::Draw).len();
    let mut buffer = vec![0; len];
    assert!(Snapshot::take(&mut buffer, &state, &world(), Verb::Draw).is_ok());
    for short in [0, 1, len - 1] {
        let error = Snapshot::take(&mut buffer[..short], &state, &world(), Verb::Draw).unwrap_err();
        assert_eq!(error, TooSmall { needed: len });
    }
}

#[test]
fn a_run_that_compared_nothing_is_no_proof() {
    let mut coverage = Coverage::default();
    assert_eq!(coverage.verdict(), Err(NothingCompared { seen: 0 }));
    coverage.count(0);
    assert_eq!(coverage.verdict().unwrap_err().to_string(), "compared none of 1 verbs");
    coverage.count(12);
    assert_eq!(coverage.verdict().unwrap().to_string(), "compared 1 of 2 verbs, 12 members");
}
