//! The applier on its own: what it refuses and by which name, what it keeps, what it calls. Tests named after a
//! class of defects say which one of the reference's list they stand for.
#![cfg(all(feature = "trace", not(runahead_loom)))]

mod common;

use common::direct::{Direct, Log, Out, applier, bare, calls};
use runahead_core::{Applier, Fault, FaultCode, Quota, applier::ContextError, trace::Trace};
use runahead_rings::Status;
use runahead_wire::{
    Bulk, Handle, Member, ReplySpace, SharedBytes, event,
    handle::{Kind, SHADER_CSO_COMPOSITE_BASE},
    payload::*,
    pipe::{self, Pipe},
    values::{QueryKind, ResourceTarget, ShaderBufferClass, StorageKind},
    zerocopy::IntoBytes,
};

fn h(slot: u32, generation: u32) -> Handle {
    Handle::new(slot, generation)
}

fn named(kind: Kind, handle: Handle) -> HandleOnly {
    HandleOnly { handle, kind: kind.raw(), ..HandleOnly::default() }
}

fn buffer(handle: Handle, size: u64) -> ResourceDesc {
    ResourceDesc {
        resource: handle,
        storage_kind: StorageKind::Buffer.raw() as u8,
        buf_size: size,
        ..ResourceDesc::default()
    }
}

/// An RGBA8 texture of 16 by 16 texels.
fn texture(handle: Handle) -> ResourceDesc {
    ResourceDesc {
        resource: handle,
        target: ResourceTarget::Texture2D.raw() as u8,
        internal_format: runahead_wire::Format::Rgba8.raw(),
        width: 16,
        height: 16,
        depth: 1,
        array_layers: 1,
        levels: 5,
        ..ResourceDesc::default()
    }
}

fn reply(capacity: u32) -> Option<ReplySpace> {
    Some(ReplySpace { offset: 64, capacity, tag: 1, ..ReplySpace::default() })
}

/// Windows over one unit, as every draw needs them.
fn windows(applier: &mut Direct) {
    let views = [BoundView::default()];
    applier.set_sampler_views(&SamplerViews { start: 0, count: 1 }, &views).expect("views");
    applier.bind_sampler_states(&SamplerStates { start: 0, count: 1 }, &[Handle::NULL]).expect("samplers");
}

fn draw() -> DrawInfo {
    DrawInfo { mode: 4, instance_count: 1, num_draws: 1, ..DrawInfo::default() }
}

const RANGE: [DrawRange; 1] = [DrawRange { start: 0, count: 3, index_bias: 0 }];

#[track_caller]
fn fails(outcome: Result<(), Fault>, fault: &str) {
    match outcome {
        Ok(()) => panic!("no fault, where {fault} was due"),
        Err(found) => assert_eq!(found.to_string(), fault),
    }
}

/// Names of the events sent, in order; they are gone afterwards.
fn events(applier: &mut Direct) -> Vec<String> {
    let sent = std::mem::take(&mut applier.outlet_mut().0.0.events);
    sent.iter()
        .map(|words| match event::Record::decode(words.as_bytes()).expect("a whole event") {
            event::Record::GlError(row) => {
                format!("{:?}", row.payload.kind().expect("a known error"))
            }
            event::Record::Refused(row) => {
                let (kind, object) = (row.payload.kind().expect("a kind"), row.payload.object);
                format!("Refused {kind:?} {}.{}", object.slot, object.generation)
            }
            other => format!("{:?}", other.op()),
        })
        .collect()
}

fn answer(applier: &mut Direct) -> (Status, Vec<u8>) {
    let (_, status, bytes) = applier.outlet_mut().0.0.answers.pop_front().expect("an answer");
    (status, bytes)
}

#[test]
fn a_draw_reaches_the_backend_once_everything_it_needs_is_there() {
    let mut applier = applier();
    fails(applier.draw_vbo(&draw(), &RANGE, &[]), "ProtocolCorruption(\"SetSamplerViews.Count\")");
    windows(&mut applier);
    applier.draw_vbo(&draw(), &RANGE, &[]).expect("a draw");
    assert_eq!(calls(&mut applier), ["bind_context", "draw"]);
}

#[test]
fn windows_narrower_than_what_was_touched_are_a_fault_that_names_the_row() {
    let mut applier = applier();
    windows(&mut applier);
    let touched = ContextValues { max_touched_texture_unit: 1, ..ContextValues::default() };
    applier.set_context_values(&touched).expect("values");
    fails(applier.draw_vbo(&draw(), &RANGE, &[]), "ProtocolCorruption(\"SetSamplerViews.Count\")");
    let views = [BoundView::default(), BoundView { unit: 1, ..BoundView::default() }];
    applier.set_sampler_views(&SamplerViews { start: 0, count: 2 }, &views).expect("views");
    fails(applier.launch_grid(&GridInfo::default()), "ProtocolCorruption(\"BindSamplerStates.Count\")");
    let samplers = [Handle::NULL; 2];
    applier.bind_sampler_states(&SamplerStates { start: 0, count: 2 }, &samplers).expect("samplers");
    applier.launch_grid(&GridInfo::default()).expect("a dispatch");
}

#[test]
fn ordering_context_values_come_before_the_verb_and_again_after_a_reset() {
    let mut applier = bare();
    applier.create_context(1, None).expect("a context");
    applier.bind_context(&BindContext { context: 1, ..BindContext::default() }).expect("current");
    windows(&mut applier);
    fails(applier.draw_vbo(&draw(), &RANGE, &[]), "ProtocolCorruption(\"DrawVbo.ContextValues\")");
    applier.set_context_values(&ContextValues::default()).expect("values");
    applier.draw_vbo(&draw(), &RANGE, &[]).expect("a draw");
    applier.applier_reset(&ApplierReset::default()).expect("a reset");
    fails(applier.draw_vbo(&draw(), &RANGE, &[]), "ProtocolCorruption(\"DrawVbo.ContextValues\")");
}

#[test]
fn a_record_without_a_context_is_a_fault() {
    let mut applier = bare();
    fails(applier.resource_create(&buffer(h(1, 1), 4)), "ProtocolCorruption(\"ResourceCreate.Context\")");
    let unknown = BindContext { context: 5, ..BindContext::default() };
    fails(applier.bind_context(&unknown), "UnnamedIdentity(\"BindContext.Context\")");
    applier.create_context(5, None).expect("a context");
    let surface = BindContext { context: 5, draw_surface: 9, ..BindContext::default() };
    fails(applier.bind_context(&surface), "UnnamedIdentity(\"BindContext.DrawSurface\")");
}

// Identity.

#[test]
fn identity_a_recycled_slot_is_not_its_predecessor() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    applier.resource_destroy(&named(Kind::Buffer, h(1, 1))).expect("its end");
    applier.resource_create(&buffer(h(1, 2), 8)).expect("another in its slot");
    let bind = |resource| IndexBuffer { resource, ..IndexBuffer::default() };
    fails(applier.set_index_buffer(&bind(h(1, 1))), "UnnamedIdentity(\"SetIndexBuffer.Resource\")");
    applier.set_index_buffer(&bind(h(1, 2))).expect("the new one");
    fails(
        applier.resource_destroy(&named(Kind::Buffer, h(1, 1))),
        "UnnamedIdentity(\"ResourceDestroy.Handle\")",
    );
}

#[test]
fn identity_a_generation_never_goes_back_or_stays() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 3), 4)).expect("a buffer");
    for generation in [1, 2, 3] {
        fails(
            applier.resource_create(&buffer(h(1, generation), 4)),
            "ProtocolCorruption(\"ResourceCreate.Generation\")",
        );
    }
    applier.resource_destroy(&named(Kind::Buffer, h(1, 3))).expect("its end");
    fails(applier.resource_create(&buffer(h(1, 3), 4)), "ProtocolCorruption(\"ResourceCreate.Generation\")");
}

#[test]
fn identity_a_newer_generation_resets_a_live_slot_and_releases_its_twin() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    applier.resource_create(&buffer(h(1, 2), 4)).expect("a newer one");
    assert_eq!(applier.backend().listener.released, 1);
    let (_, objects) = applier.current().expect("a context");
    assert!(objects.buffers.known(h(1, 1)).is_none() && objects.buffers.get(h(1, 2)).is_some());
}

#[test]
fn identity_windows_left_at_a_dead_handle_are_found_at_the_next_verb() {
    // The reference's client deleted an object and did not send its indexed bindings again.
    let range = [BufferRange { resource: h(1, 1), offset: 0, size: WHOLE_SIZE }];
    let class = ShaderBufferClass::Storage.raw();
    let head = ShaderBuffers { class, start: 3, count: 1, ..ShaderBuffers::default() };
    let prepared = || {
        let mut applier = applier();
        windows(&mut applier);
        applier.resource_create(&buffer(h(1, 1), 64)).expect("a buffer");
        applier.set_shader_buffers(&head, &range).expect("bound");
        applier.draw_vbo(&draw(), &RANGE, &[]).expect("a draw");
        applier
    };
    let mut left = prepared();
    left.resource_destroy(&named(Kind::Buffer, h(1, 1))).expect("its end");
    fails(left.draw_vbo(&draw(), &RANGE, &[]), "UnnamedIdentity(\"SetShaderBuffers.Resource\")");
    let mut again = prepared();
    again.set_shader_buffers(&ShaderBuffers { class, ..ShaderBuffers::default() }, &[]).expect("empty");
    again.resource_destroy(&named(Kind::Buffer, h(1, 1))).expect("its end");
    again.draw_vbo(&draw(), &RANGE, &[]).expect("the window was sent again");
}

#[test]
fn identity_two_share_groups_have_the_same_handle_and_different_objects() {
    let mut applier = applier();
    applier.create_context(2, None).expect("another group");
    applier.create_context(3, Some(1)).expect("the first group");
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    let current = |context| BindContext { context, ..BindContext::default() };
    applier.bind_context(&current(2)).expect("current");
    let bind = IndexBuffer { resource: h(1, 1), ..IndexBuffer::default() };
    fails(applier.set_index_buffer(&bind), "UnnamedIdentity(\"SetIndexBuffer.Resource\")");
    applier.resource_create(&buffer(h(1, 1), 400)).expect("a buffer of its own");
    applier.bind_context(&current(3)).expect("current");
    applier.set_index_buffer(&bind).expect("shared with context 1");
    let (_, objects) = applier.current().expect("a context");
    assert_eq!(objects.buffers.get(h(1, 1)).expect("alive").record.desc.buf_size, 4);
}

#[test]
fn identity_a_composite_program_has_a_band_of_its_own() {
    let mut applier = applier();
    let desc = |slot| ProgramDesc { cso: h(slot, 1), ..ProgramDesc::default() };
    let create = |applier: &mut Direct, slot| {
        applier.create_shader_state(&desc(slot), [Bulk::EMPTY; 6], Bulk::Bytes(&[0; 4]))
    };
    create(&mut applier, SHADER_CSO_COMPOSITE_BASE).expect("the first of the band");
    create(&mut applier, 1).expect("the first linked one");
    fails(create(&mut applier, 3), "ProtocolCorruption(\"CreateShaderState.Slot\")");
    fails(
        create(&mut applier, SHADER_CSO_COMPOSITE_BASE + 2),
        "ProtocolCorruption(\"CreateShaderState.Slot\")",
    );
    fails(create(&mut applier, 1 << 20), "ProtocolCorruption(\"CreateShaderState.Slot\")");
}

#[test]
fn identity_a_view_follows_the_serial_of_its_roots_storage() {
    let mut applier = applier();
    applier.resource_create(&texture(h(1, 1))).expect("the root");
    applier.resource_create(&ResourceDesc { view_of: h(1, 1), ..texture(h(2, 1)) }).expect("a view");
    let serial = |applier: &Direct| {
        let (_, objects) = applier.current().expect("a context");
        objects.storage_of(h(2, 1)).expect("a root").record.storage_serial
    };
    let before = serial(&applier);
    applier.resource_respecify(&ResourceDesc { width: 8, ..texture(h(1, 1)) }).expect("smaller");
    assert_ne!(serial(&applier), before, "the view's gate would skip the root's new storage");
}

#[test]
fn identity_no_serial_is_given_twice() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    let (bind, objects) = applier.current().expect("a context");
    let serials =
        [objects.buffers.get(h(1, 1)).unwrap().serial, objects.textures.get(h(1, 1)).unwrap().serial];
    assert!(serials[0] != serials[1] && !serials.contains(&0));
    assert_ne!(bind.serials.values, 0);
    // A reset is new state, not the state of before: no gate may take it for seen.
    let seen = bind.serials;
    applier.applier_reset(&ApplierReset::default()).expect("a reset");
    let (bind, _) = applier.current().expect("a context");
    assert!(bind.serials.values > seen.values && bind.serials.sampler_views > seen.sampler_views);
}

// Lost updates.

#[test]
fn lost_updates_an_orphaned_buffer_gets_the_upload_that_follows() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 16)).expect("a buffer");
    calls(&mut applier);
    applier.resource_respecify(&buffer(h(1, 1), 16)).expect("orphaned");
    let data = SubData::for_buffer(h(1, 1), 0, 16);
    applier.resource_sub_data(&data, &[], Bulk::Bytes(&[1; 16])).expect("its contents");
    assert_eq!(calls(&mut applier), ["define_storage", "upload_buffer"], "a buffer is never metadata alone");
}

#[test]
fn lost_updates_metadata_of_a_texture_defines_nothing_again() {
    let mut applier = applier();
    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    let serial = |applier: &Direct| {
        applier.current().expect("a context").1.textures.get(h(1, 1)).unwrap().record.storage_serial
    };
    let before = serial(&applier);
    calls(&mut applier);
    let sampled = ResourceDesc { bind_mask: 1 << 5, gl_name: 7, ..texture(h(1, 1)) };
    applier.resource_respecify(&sampled).expect("metadata");
    assert_eq!((calls(&mut applier).len(), serial(&applier)), (0, before), "its uploads would be lost");
    let drawn = ResourceDesc { bind_mask: 1 << 7, ..texture(h(1, 1)) };
    applier.resource_respecify(&drawn).expect("metadata");
    let (_, objects) = applier.current().expect("a context");
    assert_eq!(objects.textures.get(h(1, 1)).unwrap().record.desc.bind_mask, 1 << 5 | 1 << 7, "sticky");
}

#[test]
fn lost_updates_a_respecify_of_one_level_says_which() {
    let mut applier = applier();
    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    let level = ResourceDesc {
        has_respecified_level: 1,
        respecified_level: 3,
        has_defined_content: 1,
        ..texture(h(1, 1))
    };
    calls(&mut applier);
    applier.resource_respecify(&level).expect("one level");
    let (_, objects) = applier.current().expect("a context");
    let desc = objects.textures.get(h(1, 1)).unwrap().record.desc;
    assert_eq!((desc.has_respecified_level, desc.respecified_level), (1, 3));
    assert_eq!(calls(&mut applier), ["define_storage"]);
}

#[test]
fn lost_updates_a_failed_relink_keeps_executable_bindings_and_constants() {
    let mut applier = applier();
    let linked = ProgramDesc {
        cso: h(1, 1),
        stage_mask: 1,
        global_ubo_size: 16,
        link_status: 1,
        ..ProgramDesc::default()
    };
    let mut modules = [Bulk::EMPTY; 6];
    modules[0] = Bulk::Bytes(&[0; 8]);
    applier.create_shader_state(&linked, modules, Bulk::Bytes(&[0; 4])).expect("linked");
    let head = GlobalConstants { shader_cso: h(1, 1), offset: 4, ..GlobalConstants::default() };
    applier.set_global_constants(&head, Bulk::Bytes(&[9; 4])).expect("constants");
    applier.bind_shader_state(&named(Kind::ShaderCso, h(1, 1))).expect("bound");
    let failed = ProgramDesc { cso: h(1, 1), ..ProgramDesc::default() };
    applier.create_shader_state(&failed, [Bulk::EMPTY; 6], Bulk::Bytes(&[0; 4])).expect("a failed link");
    let look = |applier: &Direct| {
        let shader = applier.current().expect("a context").1.shaders.get(h(1, 1)).unwrap();
        (shader.record.executable, shader.record.constants.as_ref().to_vec())
    };
    assert_eq!(look(&applier), (true, [[0; 4], [9; 4], [0; 4], [0; 4]].concat()));
    applier.bind_shader_state(&named(Kind::ShaderCso, h(1, 1))).expect("bound anew");
    assert!(!look(&applier).0, "what did not link is not executable once it is bound anew");
    applier.create_shader_state(&linked, modules, Bulk::Bytes(&[0; 4])).expect("linked again");
    assert_eq!(look(&applier), (true, vec![0; 16]), "a link clears the constants");
}

#[test]
fn lost_updates_a_window_empties_what_it_does_not_cover() {
    let mut applier = applier();
    for slot in 1..=3 {
        applier.resource_create(&buffer(h(slot, 1), 4)).expect("a buffer");
    }
    let at =
        |index, slot| VertexBuffer { resource: h(slot, 1), binding_index: index, ..VertexBuffer::default() };
    let head = |start, count| VertexBuffers { start, count, ..VertexBuffers::default() };
    applier.set_vertex_buffers(&head(0, 3), &[at(0, 1), at(1, 2), at(2, 3)]).expect("three");
    applier.set_vertex_buffers(&head(1, 1), &[at(1, 3)]).expect("one");
    let window = &applier.current().expect("a context").0.state.vertex_buffers;
    assert_eq!([0, 1, 2].map(|point| window.get(point).resource), [Handle::NULL, h(3, 1), Handle::NULL]);
}

// Ordering.

#[test]
fn ordering_a_record_belongs_to_the_context_bound_before_it() {
    let mut applier = applier();
    applier.create_context(2, Some(1)).expect("a context");
    let patch = |vertices| PatchState { vertices, ..PatchState::default() };
    applier.set_patch_state(&patch(5)).expect("of context 1");
    applier.bind_context(&BindContext { context: 2, ..BindContext::default() }).expect("current");
    applier.set_patch_state(&patch(7)).expect("of context 2");
    // Nothing of context 1 counts for this one: its values have not come.
    windows(&mut applier);
    fails(applier.draw_vbo(&draw(), &RANGE, &[]), "ProtocolCorruption(\"DrawVbo.ContextValues\")");
    let vertices = |context| applier.context(context).expect("a context").0.state.patch.vertices;
    assert_eq!((vertices(1), vertices(2)), (5, 7));
}

// Refusals.

#[test]
fn refusals_one_error_an_object_however_often_it_is_drawn_with() {
    let quota = Quota { storage: 100, ..Quota::default() };
    let mut applier: Direct = Applier::new(Trace::new(Log::default()), Out::default(), quota, 0);
    applier.create_context(1, None).expect("a context");
    applier.bind_context(&BindContext { context: 1, ..BindContext::default() }).expect("current");
    applier.set_context_values(&ContextValues::default()).expect("values");
    windows(&mut applier);
    applier.resource_create(&buffer(h(1, 1), 101)).expect("refused is no fault");
    assert_eq!(events(&mut applier), ["Refused Buffer 1.1"]);
    // A set takes it, and as a uniform buffer it is as if none were bound.
    let range = [BufferRange { resource: h(1, 1), offset: 0, size: WHOLE_SIZE }];
    applier
        .set_shader_buffers(&ShaderBuffers { count: 1, ..ShaderBuffers::default() }, &range)
        .expect("bound");
    calls(&mut applier);
    applier.draw_vbo(&draw(), &RANGE, &[]).expect("a draw");
    assert_eq!(calls(&mut applier), ["draw"]);
    // Vertices a draw cannot do without.
    let fetched = [VertexBuffer { resource: h(1, 1), ..VertexBuffer::default() }];
    applier
        .set_vertex_buffers(&VertexBuffers { count: 1, ..VertexBuffers::default() }, &fetched)
        .expect("bound");
    for _ in 0..1000 {
        applier.draw_vbo(&draw(), &RANGE, &[]).expect("dropped is no fault");
    }
    let data = SubData::for_buffer(h(1, 1), 0, 4);
    applier.resource_sub_data(&data, &[], Bulk::Bytes(&[0; 4])).expect("dropped");
    assert_eq!(events(&mut applier), ["OutOfMemory"], "a flood of errors, or none");
    assert!(calls(&mut applier).is_empty());
    // Smaller storage makes it an object like any other.
    applier.resource_respecify(&buffer(h(1, 1), 100)).expect("smaller");
    applier.draw_vbo(&draw(), &RANGE, &[]).expect("a draw");
    assert_eq!(calls(&mut applier), ["define_storage", "draw"]);
}

#[test]
fn refusals_storage_is_counted_and_comes_back() {
    let quota = Quota { storage: 2 * 16 * 16 * 4 * 4 / 3, ..Quota::default() };
    let mut applier: Direct = Applier::new(Trace::new(Log::default()), Out::default(), quota, 0);
    applier.create_context(1, None).expect("a context");
    applier.bind_context(&BindContext { context: 1, ..BindContext::default() }).expect("current");
    applier.resource_create(&texture(h(1, 1))).expect("one");
    let mip_chain: u64 = [16u64, 8, 4, 2, 1].iter().map(|edge| edge * edge * 4).sum();
    assert_eq!(applier.left().1.left(), quota.storage - mip_chain);
    applier.resource_create(&texture(h(2, 1))).expect("two");
    applier.resource_create(&texture(h(3, 1))).expect("refused");
    assert_eq!(events(&mut applier), ["Refused Texture 3.1"]);
    for slot in 1..=3 {
        applier.resource_destroy(&named(Kind::Texture, h(slot, 1))).expect("its end");
    }
    assert_eq!(applier.left().1.left(), quota.storage);
}

// Capacity.

#[test]
fn capacity_a_slot_far_away_makes_no_table_large() {
    let mut applier = applier();
    for slot in [2, 0xFFFF_FFFE, u32::MAX, 0] {
        fails(applier.resource_create(&buffer(h(slot, 1), 4)), "ProtocolCorruption(\"ResourceCreate.Slot\")");
    }
    assert_eq!(applier.current().expect("a context").1.buffers.len(), 0);
}

#[test]
fn capacity_records_end_at_the_quota() {
    let quota = Quota { records: 100_000, ..Quota::default() };
    let mut applier: Direct = Applier::new(Trace::new(Log::default()), Out::default(), quota, 0);
    applier.create_context(1, None).expect("a context");
    applier.bind_context(&BindContext { context: 1, ..BindContext::default() }).expect("current");
    let fence = |slot| named(Kind::Fence, h(slot, 1));
    let failed = (1..1_000_000).find_map(|slot| applier.fence_create(&fence(slot)).err());
    assert_eq!(failed.expect("a limit").to_string(), "OverLimit(\"FenceCreate.Objects\")");
    assert!(applier.current().expect("a context").1.fences.len() > 100);
}

#[test]
fn capacity_a_readback_larger_than_its_reply_space_is_refused_before_it_starts() {
    let mut applier = applier();
    calls(&mut applier);
    let region = TexelBox { width: 65535, height: 65535, depth: 1, ..TexelBox::default() };
    let read = ReadbackInfo { region, dst_size: 65535 * 65535 * 4, ..ReadbackInfo::default() };
    fails(applier.read_pixels(&read, reply(1 << 19)), "ReplyToNoSlot(\"ReadPixels.Reply\")");
    fails(applier.read_pixels(&read, reply(u32::MAX)), "ProtocolCorruption(\"Reply.Capacity\")");
    assert!(calls(&mut applier).is_empty());
    applier.read_pixels(&read, None).expect("an answer that nobody wants costs nothing");
    assert!(calls(&mut applier).is_empty());
}

#[test]
fn capacity_contexts_and_surfaces_are_limited() {
    let mut applier = bare();
    let most = Quota::default().contexts;
    for context in 1..=u64::from(most) {
        applier.create_context(context, None).expect("within the quota");
        applier.create_surface(context).expect("within the quota");
    }
    assert_eq!(applier.create_context(999, None), Err(ContextError::OutOfMemory));
    assert_eq!(applier.create_surface(999), Err(ContextError::OutOfMemory));
    assert_eq!(applier.create_context(1, None), Err(ContextError::Token));
    assert_eq!(applier.create_context(0, None), Err(ContextError::Token));
    assert_eq!(applier.create_context(998, Some(77)), Err(ContextError::Share));
    assert!(applier.destroy_context(3) && !applier.destroy_context(3));
    assert!(applier.destroy_surface(3) && !applier.destroy_surface(3));
    applier.create_context(999, Some(1)).expect("a place is free again");
    applier.create_surface(999).expect("a place is free again");
}

#[test]
fn capacity_a_ring_of_views_ends() {
    let mut applier = applier();
    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    applier.resource_create(&ResourceDesc { view_of: h(1, 1), ..texture(h(2, 1)) }).expect("a view");
    applier.resource_respecify(&ResourceDesc { view_of: h(2, 1), ..texture(h(1, 1)) }).expect("a ring");
    assert!(applier.current().expect("a context").1.storage_of(h(1, 1)).is_none());
    let own = ResourceDesc { view_of: h(1, 1), ..texture(h(1, 1)) };
    fails(applier.resource_respecify(&own), "ProtocolCorruption(\"ResourceRespecify.ViewOf\")");
}

// Ranges.

#[test]
fn uploads_lie_inside_their_resource_and_their_blob() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 100)).expect("a buffer");
    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    let upload = |applier: &mut Direct, offset, size, bytes: &[u8]| {
        applier.resource_sub_data(&SubData::for_buffer(h(1, 1), offset, size), &[], Bulk::Bytes(bytes))
    };
    upload(&mut applier, 90, 10, &[0; 10]).expect("up to the end");
    fails(upload(&mut applier, 91, 10, &[0; 10]), "ProtocolCorruption(\"ResourceSubData.UnionBox\")");
    fails(upload(&mut applier, u64::MAX, 10, &[0; 10]), "ProtocolCorruption(\"ResourceSubData.UnionBox\")");
    fails(upload(&mut applier, 0, 10, &[0; 9]), "ProtocolCorruption(\"ResourceSubData.Blob\")");

    let data = SubData {
        resource: h(1, 1),
        target: ResourceTarget::Texture2D.raw() as u8,
        level: 1,
        level_width: 8,
        level_height: 8,
        union_box: TexelBox { width: 8, height: 8, depth: 1, ..TexelBox::default() },
        region_count: 1,
        ..SubData::default()
    };
    let region = SubRegion { width: 8, height: 8, depth: 1, ..SubRegion::default() };
    let put = |applier: &mut Direct, data: &SubData, region: SubRegion, len: usize| {
        applier.resource_sub_data(data, &[region], Bulk::Bytes(&vec![0; len]))
    };
    put(&mut applier, &data, region, 256).expect("a whole level");
    fails(put(&mut applier, &data, region, 255), "ProtocolCorruption(\"ResourceSubData.Blob\")");
    let strided = SubRegion { src_row_stride: 40, ..region };
    put(&mut applier, &data, strided, 40 * 7 + 32).expect("rows with gaps");
    fails(put(&mut applier, &data, strided, 40 * 7 + 31), "ProtocolCorruption(\"ResourceSubData.Blob\")");
    let overlapping = SubRegion { src_row_stride: 31, ..region };
    fails(put(&mut applier, &data, overlapping, 4096), "ProtocolCorruption(\"ResourceSubData.Blob\")");
    let far = SubRegion { src_offset: u64::MAX - 8, ..region };
    fails(put(&mut applier, &data, far, 4096), "ProtocolCorruption(\"ResourceSubData.Blob\")");
    let outside = SubRegion { x: 1, ..region };
    fails(put(&mut applier, &data, outside, 4096), "ProtocolCorruption(\"ResourceSubData.Regions\")");
    let wide = SubData { union_box: TexelBox { width: 9, ..data.union_box }, ..data };
    fails(put(&mut applier, &wide, region, 4096), "ProtocolCorruption(\"ResourceSubData.UnionBox\")");
    let level = SubData { level: 5, ..data };
    fails(put(&mut applier, &level, region, 4096), "ProtocolCorruption(\"ResourceSubData.Level\")");
    let other = SubData { target: ResourceTarget::Texture3D.raw() as u8, ..data };
    fails(put(&mut applier, &other, region, 4096), "ProtocolCorruption(\"ResourceSubData.Target\")");
    let none = SubData { region_count: 0, ..data };
    let outcome = applier.resource_sub_data(&none, &[], Bulk::Bytes(&[0; 4]));
    fails(outcome, "ProtocolCorruption(\"ResourceSubData.RegionCount\")");
}

#[test]
fn the_resident_upload_is_a_buffers_alone() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 100)).expect("a buffer");
    let data = SubData { region_count: 1, ..SubData::for_buffer(h(1, 1), 0, 4) };
    let outcome = applier.buffer_sub_data_resident(&data, Bulk::Bytes(&[0; 4]));
    fails(outcome, "ProtocolCorruption(\"BufferSubDataResident.RegionCount\")");
    let texture = SubData { target: 2, ..SubData::default() };
    let outcome = applier.buffer_sub_data_resident(&texture, Bulk::Bytes(&[0; 4]));
    fails(outcome, "ProtocolCorruption(\"BufferSubDataResident.Target\")");
}

#[test]
fn blocks_of_compressed_texels_are_counted_whole() {
    let mut applier = applier();
    let format = runahead_wire::Format::Etc1Rgb8.raw();
    let desc = ResourceDesc { internal_format: format, width: 6, height: 6, levels: 1, ..texture(h(1, 1)) };
    applier.resource_create(&desc).expect("a texture");
    let data = SubData {
        resource: h(1, 1),
        target: ResourceTarget::Texture2D.raw() as u8,
        level_width: 6,
        level_height: 6,
        union_box: TexelBox { width: 6, height: 6, depth: 1, ..TexelBox::default() },
        region_count: 1,
        ..SubData::default()
    };
    let region = [SubRegion { width: 6, height: 6, depth: 1, ..SubRegion::default() }];
    applier.resource_sub_data(&data, &region, Bulk::Bytes(&[0; 32])).expect("two by two blocks of 8");
    let outcome = applier.resource_sub_data(&data, &region, Bulk::Bytes(&[0; 31]));
    fails(outcome, "ProtocolCorruption(\"ResourceSubData.Blob\")");
}

#[test]
fn indirect_parameters_lie_inside_their_buffers() {
    let mut applier = applier();
    windows(&mut applier);
    applier.resource_create(&buffer(h(1, 1), 100)).expect("a buffer");
    let info = DrawInfo { flags: 32, num_draws: 0, ..draw() };
    let draws = |offset, stride, draw_count| DrawIndirect {
        buffer: h(1, 1),
        offset,
        stride,
        draw_count,
        ..DrawIndirect::default()
    };
    let indirect = |applier: &mut Direct, one| applier.draw_vbo(&info, &[], &[one]);
    indirect(&mut applier, draws(84, 0, 1)).expect("the last 16 bytes");
    fails(indirect(&mut applier, draws(88, 0, 1)), "ProtocolCorruption(\"DrawVbo.IndirectOffset\")");
    indirect(&mut applier, draws(0, 28, 4)).expect("four, the last at 84");
    fails(indirect(&mut applier, draws(0, 32, 4)), "ProtocolCorruption(\"DrawVbo.IndirectOffset\")");
    fails(indirect(&mut applier, draws(2, 0, 1)), "ProtocolCorruption(\"DrawVbo.IndirectOffset\")");
    fails(
        indirect(&mut applier, draws(0, u32::MAX - 3, u32::MAX)),
        "ProtocolCorruption(\"DrawVbo.IndirectOffset\")",
    );
    let grid = |offset| GridInfo {
        is_indirect: 1,
        indirect_buffer: h(1, 1),
        indirect_offset: offset,
        ..GridInfo::default()
    };
    applier.launch_grid(&grid(88)).expect("the last 12 bytes");
    fails(applier.launch_grid(&grid(92)), "ProtocolCorruption(\"LaunchGrid.IndirectOffset\")");
    let indexed = DrawInfo { index_size: 2, ..draw() };
    fails(applier.draw_vbo(&indexed, &RANGE, &[]), "UnnamedIdentity(\"DrawVbo.IndexResource\")");
}

#[test]
fn copies_lie_inside_both_ends() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 100)).expect("a buffer");
    applier.resource_create(&buffer(h(2, 1), 50)).expect("a buffer");
    let copy = |src, dst, src_offset, dst_offset, size| CopyBuffer { src, dst, src_offset, dst_offset, size };
    let (one, two) = (h(1, 1), h(2, 1));
    applier.copy_buffer(&copy(one, two, 50, 0, 50)).expect("the second half");
    fails(applier.copy_buffer(&copy(one, two, 51, 0, 50)), "ProtocolCorruption(\"CopyBuffer.SrcOffset\")");
    fails(applier.copy_buffer(&copy(one, two, 0, 1, 50)), "ProtocolCorruption(\"CopyBuffer.DstOffset\")");
    applier.copy_buffer(&copy(one, one, 0, 50, 50)).expect("apart");
    fails(applier.copy_buffer(&copy(one, one, 0, 49, 50)), "ProtocolCorruption(\"CopyBuffer.Size\")");

    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    applier.resource_create(&texture(h(2, 1))).expect("a texture");
    let target = ResourceTarget::Texture2D.raw() as u16;
    let whole = CopyRegion {
        src: h(1, 1),
        dst: h(2, 1),
        src_box: TexelBox { width: 16, height: 16, depth: 1, ..TexelBox::default() },
        src_target: target,
        dst_target: target,
        ..CopyRegion::default()
    };
    applier.resource_copy_region(&whole).expect("all of it");
    let wide = CopyRegion { src_box: TexelBox { width: 17, ..whole.src_box }, ..whole };
    fails(applier.resource_copy_region(&wide), "ProtocolCorruption(\"ResourceCopyRegion.SrcBox\")");
    fails(
        applier.resource_copy_region(&CopyRegion { dst_x: 1, ..whole }),
        "ProtocolCorruption(\"ResourceCopyRegion.DstX\")",
    );
    fails(
        applier.resource_copy_region(&CopyRegion { dst_level: 1, ..whole }),
        "ProtocolCorruption(\"ResourceCopyRegion.DstX\")",
    );
    fails(
        applier.resource_copy_region(&CopyRegion { dst_z: 1, ..whole }),
        "ProtocolCorruption(\"ResourceCopyRegion.DstZ\")",
    );
}

#[test]
fn readbacks_into_a_buffer_stay_inside_it() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 100)).expect("a buffer");
    let read = ReadbackToBuffer {
        src: ReadbackInfo {
            region: TexelBox { width: 4, height: 3, depth: 1, ..TexelBox::default() },
            dst_size: 48,
            ..ReadbackInfo::default()
        },
        dst: h(1, 1),
        dst_base: 4,
        row_stride: 40,
        ..ReadbackToBuffer::default()
    };
    applier.read_pixels_to_buffer(&read).expect("4 + 40 + 40 + 16");
    let later = ReadbackToBuffer { dst_base: 5, ..read };
    fails(applier.read_pixels_to_buffer(&later), "ProtocolCorruption(\"ReadPixelsToBuffer.DstBase\")");
    let stride = ReadbackToBuffer { row_stride: u64::MAX, ..read };
    fails(applier.read_pixels_to_buffer(&stride), "ProtocolCorruption(\"ReadPixelsToBuffer.ImageStride\")");
}

// Contents of blobs.

#[test]
fn what_lies_in_a_blob_is_checked_member_by_member() {
    let mut applier = applier();
    let desc = SamplerDesc { cso: h(1, 1), ..SamplerDesc::default() };
    let bad = SamplerParameters { wrap_s: 99, ..SamplerParameters::default() };
    let outcome = applier.create_sampler_state(&desc, Bulk::Bytes(bad.as_bytes()));
    fails(outcome, "ProtocolCorruption(\"SamplerParameters.WrapS\")");
    let short = SamplerParameters::default();
    let outcome = applier.create_sampler_state(&desc, Bulk::Bytes(&short.as_bytes()[..99]));
    fails(outcome, "ProtocolCorruption(\"CreateSamplerState.Parameters\")");

    let all = RenderStateDesc { cso: h(1, 1), chunk_mask: 127, ..RenderStateDesc::default() };
    let outcome = applier.create_render_state(&all, Bulk::Bytes(&[0xFF; 396]));
    fails(outcome, "ProtocolCorruption(\"RenderState.Blend\")");
    let outcome = applier.create_render_state(&all, Bulk::Bytes(&[0; 392]));
    fails(outcome, "ProtocolCorruption(\"CreateRenderState.Blob\")");
    let part = RenderStateDesc { chunk_mask: 1, ..all };
    let outcome = applier.create_render_state(&part, Bulk::Bytes(&[0; 28]));
    fails(outcome, "ProtocolCorruption(\"CreateRenderState.ChunkMask\")");
    let unknown = RenderStateDesc { base_cso: h(1, 1), ..part };
    let outcome = applier.create_render_state(&unknown, Bulk::Bytes(&[0; 28]));
    fails(outcome, "UnnamedIdentity(\"CreateRenderState.BaseCso\")");

    let dynamic = DynamicState { chunk_mask: 1 << 1, ..DynamicState::default() };
    let outcome = applier.set_dynamic_state(&dynamic, Bulk::Bytes(&[0xFF; 20]));
    fails(outcome, "ProtocolCorruption(\"RenderState.ClipOrigin\")");

    let elements = VertexElements { cso: h(1, 1), attribute_count: 1, ..VertexElements::default() };
    let attribute = VertexAttrib { size: 4, binding_index: 1, ..VertexAttrib::default() };
    assert_eq!(attribute.check(), Ok(()));
    let outcome = applier.create_vertex_elements(&elements, Bulk::Bytes(attribute.as_bytes()));
    fails(outcome, "ProtocolCorruption(\"CreateVertexElements.BindingIndex\")");
    let outcome = applier.create_vertex_elements(&elements, Bulk::Bytes(&[0; 23]));
    fails(outcome, "ProtocolCorruption(\"CreateVertexElements.Blob\")");
}

#[test]
fn shared_bytes_are_copied_before_they_are_looked_at() {
    use std::sync::atomic::AtomicU64;
    let mut applier = applier();
    let parameters = SamplerParameters { min_lod: 2.5, ..SamplerParameters::default() };
    let mut words = [0u64; 13];
    words.as_mut_bytes()[..100].copy_from_slice(parameters.as_bytes());
    let shared: Vec<AtomicU64> = words.into_iter().map(AtomicU64::new).collect();
    let bulk = Bulk::Shared(SharedBytes::new(&shared, 100).expect("enough words"));
    let desc = SamplerDesc { cso: h(1, 1), ..SamplerDesc::default() };
    applier.create_sampler_state(&desc, bulk).expect("a sampler");
    let (_, objects) = applier.current().expect("a context");
    assert_eq!(objects.samplers.get(h(1, 1)).unwrap().record, parameters);
}

#[test]
fn a_render_state_is_its_base_and_what_differs() {
    let mut applier = applier();
    let all = RenderStateDesc { cso: h(1, 1), chunk_mask: 127, ..RenderStateDesc::default() };
    let mut half = [0u8; 396];
    half[0] = 5;
    applier.create_render_state(&all, Bulk::Bytes(&half)).expect("a whole one");
    let part = RenderStateDesc { cso: h(2, 1), base_cso: h(1, 1), chunk_mask: 1 << 5, ..all };
    let modes = [1u32, 2];
    applier.create_render_state(&part, Bulk::Bytes(modes.as_bytes())).expect("a difference");
    applier
        .bind_render_state(&BindRenderState { cso: h(2, 1), ..BindRenderState::default() })
        .expect("bound");
    let render = applier.current().expect("a context").0.state.render;
    assert_eq!((render.patch_vertices, render.polygon_mode_front, render.polygon_mode_back), (5, 1, 2));
}

#[test]
fn program_bindings_name_their_blocks_within_the_names() {
    let mut applier = applier();
    let desc = ProgramDesc { cso: h(1, 1), ..ProgramDesc::default() };
    applier.create_shader_state(&desc, [Bulk::EMPTY; 6], Bulk::Bytes(&[0; 4])).expect("a program");
    let head = ProgramBindings { cso: h(1, 1), storage_override_count: 1, ..ProgramBindings::default() };
    let at = |name_offset, name_size| ProgramStorageOverride { name_offset, name_size, ..Default::default() };
    let set = |applier: &mut Direct, one| {
        applier.set_program_bindings(&head, &[], &[], &[one], Bulk::Bytes(b"Block"))
    };
    set(&mut applier, at(0, 5)).expect("the name");
    for one in [at(0, 6), at(5, 1), at(u32::MAX, u32::MAX), at(0, 0)] {
        fails(set(&mut applier, one), "ProtocolCorruption(\"SetProgramBindings.Names\")");
    }
    let single = StorageBlockBinding { shader_cso: h(1, 1), binding: 7, ..StorageBlockBinding::default() };
    applier.set_storage_block_binding(&single, Bulk::Bytes(b"Block\0")).expect("the same block");
    applier.set_storage_block_binding(&single, Bulk::Bytes(b"Other\0")).expect("another block");
    let outcome = applier.set_storage_block_binding(&single, Bulk::Bytes(b"Block"));
    fails(outcome, "ProtocolCorruption(\"SetStorageBlockBinding.Name\")");
    let shader = applier.current().expect("a context").1.shaders.get(h(1, 1)).unwrap();
    let bindings: Vec<_> = shader.record.bindings.storage.iter().map(|one| one.binding).collect();
    assert_eq!((bindings, shader.record.bindings.names.as_ref()), (vec![7, 7], &b"BlockOther"[..]));
}

// Answers.

#[test]
fn caps_are_answered_and_declined_when_nothing_changed() {
    let mut applier = bare();
    applier.get_caps(&CapsRequest { generation: 0 }, reply(4096)).expect("an answer");
    let (status, bytes) = answer(&mut applier);
    assert_eq!(status, Status::Ok);
    let mut words = vec![0u64; bytes.len().div_ceil(8)];
    words.as_mut_bytes()[..bytes.len()].copy_from_slice(&bytes);
    runahead_wire::caps::CapsView::parse(&words.as_bytes()[..bytes.len()]).expect("a caps blob");
    applier.get_caps(&CapsRequest { generation: 1 }, reply(4096)).expect("an answer");
    assert_eq!(answer(&mut applier).0, Status::Declined);
}

#[test]
fn queries_answer_by_what_became_of_them() {
    let mut applier = applier();
    let desc = QueryDesc { query: h(1, 1), kind: QueryKind::SamplesPassed.raw(), stream: 0 };
    applier.query_create(&desc).expect("a query");
    let result = |applier: &mut Direct, wait: u8| {
        let request = QueryResultRequest { query: h(1, 1), wait, ..QueryResultRequest::default() };
        applier.query_result(&request, reply(16)).expect("an answer");
        let (status, bytes) = answer(applier);
        (status, bytes.get(8).copied())
    };
    assert_eq!(result(&mut applier, 1), (Status::Ok, Some(0)), "it never ran");
    applier.query_begin(&desc).expect("begun");
    assert_eq!(result(&mut applier, 1), (Status::Declined, None), "only a later record ends it");
    fails(applier.query_begin(&desc), "ProtocolCorruption(\"QueryBegin.Query\")");
    let other = QueryDesc { kind: QueryKind::TimeElapsed.raw(), ..desc };
    fails(applier.query_end(&other), "ProtocolCorruption(\"QueryEnd.Kind\")");
    applier.query_end(&desc).expect("ended");
    assert_eq!(result(&mut applier, 0), (Status::Ok, Some(1)));
    fails(applier.query_counter(&desc), "ProtocolCorruption(\"QueryCounter.Kind\")");
}

#[test]
fn frames_count_up_by_one_and_need_a_surface() {
    let mut applier = applier();
    let present = |frame_serial| Present { frame_serial, ..Present::default() };
    applier.present(&present(1), &[]).expect("the first");
    fails(applier.present(&present(1), &[]), "ProtocolCorruption(\"Present.FrameSerial\")");
    fails(applier.present(&present(3), &[]), "ProtocolCorruption(\"Present.FrameSerial\")");
    applier.present(&present(2), &[]).expect("the second");
    applier.bind_context(&BindContext { context: 1, ..BindContext::default() }).expect("no surface");
    fails(applier.present(&present(3), &[]), "ProtocolCorruption(\"Present.Surface\")");
}

#[test]
fn ordering_capture_opens_and_closes_in_turn() {
    let mut applier = applier();
    let counted = XfbAccounting { primitive_mode: 4, ..XfbAccounting::default() };
    fails(applier.end_stream_output(&counted), "ProtocolCorruption(\"EndStreamOutput.Capture\")");
    let begin = StreamOutputBegin { primitive_mode: 4, capture_program: h(1, 1), ..Default::default() };
    fails(applier.begin_stream_output(&begin), "UnnamedIdentity(\"BeginStreamOutput.CaptureProgram\")");
    let desc = ProgramDesc { cso: h(1, 1), ..ProgramDesc::default() };
    applier.create_shader_state(&desc, [Bulk::EMPTY; 6], Bulk::Bytes(&[0; 4])).expect("a program");
    applier.begin_stream_output(&begin).expect("open");
    fails(applier.begin_stream_output(&begin), "ProtocolCorruption(\"BeginStreamOutput.Capture\")");
    let control = StreamOutputControl::default();
    fails(applier.resume_stream_output(&control), "ProtocolCorruption(\"ResumeStreamOutput.Capture\")");
    applier.pause_stream_output(&control).expect("paused");
    applier.resume_stream_output(&control).expect("resumed");
    let bind = StreamOutputBind { lifetime_id: 5, ..StreamOutputBind::default() };
    fails(applier.bind_stream_output(&bind), "ProtocolCorruption(\"BindStreamOutput.LifetimeId\")");
    applier.end_stream_output(&counted).expect("closed");
    applier.bind_stream_output(&bind).expect("another object");
    applier.delete_stream_output(&bind).expect("its end");
    fails(applier.delete_stream_output(&bind), "UnnamedIdentity(\"DeleteStreamOutput.LifetimeId\")");
}

#[test]
fn deaths_state_their_kind() {
    let mut applier = applier();
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    fails(
        applier.resource_destroy(&named(Kind::Fence, h(1, 1))),
        "ProtocolCorruption(\"ResourceDestroy.Kind\")",
    );
    fails(
        applier.resource_destroy(&named(Kind::Texture, h(1, 1))),
        "UnnamedIdentity(\"ResourceDestroy.Handle\")",
    );
    let null = named(Kind::Buffer, Handle::NULL);
    fails(applier.object_death(&null), "ProtocolCorruption(\"ObjectDeath.Handle\")");
    fails(applier.object_death(&named(Kind::Context, h(1, 1))), "ProtocolCorruption(\"ObjectDeath.Kind\")");
    applier.object_death(&named(Kind::Buffer, h(1, 1))).expect("its end");
}

#[test]
fn every_twin_is_released_once_when_a_session_ends() {
    let mut applier = applier();
    applier.create_context(2, None).expect("another group");
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    applier.resource_create(&texture(h(1, 1))).expect("a texture");
    applier.fence_create(&named(Kind::Fence, h(1, 1))).expect("a fence");
    applier.bind_context(&BindContext { context: 2, ..BindContext::default() }).expect("current");
    applier.resource_create(&buffer(h(1, 1), 4)).expect("a buffer");
    assert!(applier.destroy_context(2));
    assert_eq!(applier.backend().listener.released, 1, "the group of a destroyed context");
    let barrier = MemoryBarrier::default();
    fails(applier.memory_barrier(&barrier), "ProtocolCorruption(\"MemoryBarrier.Context\")");
    applier.flush(&Flush::default()).expect("a flush is of no context");
    assert_eq!(applier.end().0.expect("nothing owed").listener.released, 4);
}

#[test]
fn faults_have_the_control_planes_numbers() {
    assert_eq!(Fault::DeviceLost.code(), FaultCode::DeviceLost);
    assert_eq!(Fault::PeerGone.code(), FaultCode::PeerGone);
    let row = pipe::Op::DrawVbo;
    assert_eq!(Fault::Corrupt { row, field: "mode" }.code(), FaultCode::ProtocolCorruption);
    let overrun = runahead_rings::Fault::Overrun { ring: "Cmd", cursor: "Head" };
    assert_eq!(Fault::Ring(overrun).code(), FaultCode::RingOverrun);
    assert_eq!(Fault::DeviceLost.to_string(), "BackendDeviceLost(\"Session.Device\")");
    assert_eq!(Fault::OverLimit { row, field: "objects" }.to_string(), "OverLimit(\"DrawVbo.Objects\")");
}

/// A state that a client sends to be compared is a client's word: pieces that do not make a whole, and a whole that is
/// none, are refused by name, and a verb without one is seen and not compared.
#[cfg(feature = "compare")]
#[test]
fn states_to_compare_are_checked() {
    use runahead_wire::values::DebugMarkOp;
    let mark = |size: u32, piece: &[u8]| DebugMark {
        op: DebugMarkOp::State.raw(),
        id: size,
        text_size: piece.len() as u32,
        ..DebugMark::default()
    };
    let ready = || {
        let mut applier = applier();
        applier.set_context_values(&ContextValues::default()).expect("values");
        windows(&mut applier);
        applier
    };
    let clear = |applier: &mut Direct| applier.clear(&Clear { buffer_mask: 1, ..Clear::default() });
    for (size, piece, then, fault) in [
        (2_u32, &[0; 3][..], None, "DebugMark.Id"),
        (8, &[0; 4], Some((12, &[0; 4][..])), "DebugMark.Id"),
        (8, &[0; 4], Some((8, &[0; 5][..])), "DebugMark.Id"),
        (u32::MAX, &[0; 4], None, "DebugMark.Id"),
    ] {
        let mut applier = ready();
        let first = applier.debug_mark(&mark(size, piece), piece);
        let ended = match then {
            None => first,
            Some((size, piece)) => first.and_then(|()| applier.debug_mark(&mark(size, piece), piece)),
        };
        assert!(ended.is_err_and(|ended| ended.to_string().contains(fault)), "{size} {piece:?}: {ended:?}");
    }
    // A part of a whole is not compared.
    let mut applier = ready();
    applier.debug_mark(&mark(8, &[0; 4]), &[0; 4]).expect("a piece");
    clear(&mut applier).expect("a verb");
    assert_eq!((applier.coverage().seen, applier.coverage().compared), (1, 0));
    applier.coverage().verdict().expect_err("nothing was compared");
    // What says nothing differs.
    applier.debug_mark(&mark(4, &[9; 4]), &[9; 4]).expect("a piece");
    let differs = clear(&mut applier).expect_err("not its state");
    assert!(
        matches!(differs, Fault::StateDiffers { .. }) && differs.to_string().contains("Clear"),
        "{differs}"
    );
    assert!(applier.difference().is_some_and(|difference| difference.to_string().contains("@Clear")));
}
