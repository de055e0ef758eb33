//! What the tracker sends, record by record.

mod common;

use common::heap::Heap;
use runahead_core::{
    chunks::{CHUNKS, Half},
    slots::{Band, SlotSpace},
    state::Window,
    tracker::{
        CACHED_RENDER_STATES, Constants, Family, Knobs, ProgramBindings, SamplerCache, SyncError, Tracker,
        Verb,
    },
};
use runahead_wire::{
    BlobRef, Bulk, Handle, Row, Sink,
    handle::Kind,
    payload::{
        AttribValue, BoundView, BufferRange, ConditionalRender, DrawInfo, DrawRange, FramebufferState,
        ImageView, IndexBuffer, IndirectBuffers, ProgramSamplerUnit, ProgramStorageOverride,
        SamplerParameters, Surface, VertexAttrib, VertexBindingPoint, VertexBuffer,
    },
    pipe::{Encoder, Op, Pipe, Record, rows},
    values::{FramebufferTarget, ShaderBufferClass, SurfaceKind},
    zerocopy::IntoBytes,
};

/// The pipe took no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Full;

/// A sink that remembers records and their bulk bytes.
#[derive(Default)]
struct Tape {
    /// Each begins at a multiple of 8, as decoding wants it.
    records: Vec<Vec<u64>>,
    stage: Vec<u8>,
    /// Records that are taken before one is not.
    room: Option<usize>,
}

impl Sink for Tape {
    type Error = Full;

    fn stage(&mut self, bulk: Bulk<'_>) -> Result<BlobRef, Full> {
        let Bulk::Bytes(bytes) = bulk else { panic!("the tracker has memory of its own") };
        let at = self.stage.len();
        self.stage.extend_from_slice(bytes);
        Ok(BlobRef::staged(at as u64, bytes.len() as u64))
    }

    fn record<'a, R: Row<'a>>(&mut self, row: &R) -> Result<(), Full> {
        row.check().expect("what is sent is valid");
        if let Some(room) = &mut self.room {
            *room = room.checked_sub(1).ok_or(Full)?;
        }
        let mut words = vec![0; row.encoded_len().expect("tails are as declared") / 8];
        assert!(row.encode(words.as_mut_bytes()));
        self.records.push(words);
        Ok(())
    }
}

/// A tracker with its share group's slots and a tape.
struct Client {
    tracker: Box<Tracker>,
    slots: SlotSpace<Heap>,
    pipe: Encoder<Tape>,
}

type Synced = Result<(), SyncError<Full>>;

impl Client {
    fn new() -> Self {
        Self::with(Knobs::default())
    }

    fn with(knobs: Knobs) -> Self {
        Self {
            tracker: Box::new(Tracker::new(knobs)),
            slots: SlotSpace::default(),
            pipe: Encoder(Tape::default()),
        }
    }

    /// As after a first draw.
    fn steady() -> Self {
        let mut client = Self::new();
        client.draw();
        client
    }

    fn sync(&mut self, verb: Verb) -> Synced {
        self.tracker.sync(verb, &mut self.pipe, &mut self.slots)
    }

    fn forget(&mut self, kind: Kind, object: Handle) -> Synced {
        self.tracker.forget(kind, object, &mut self.pipe, &mut self.slots)
    }

    /// Records of a class' state since the last look.
    fn synced(&mut self, verb: Verb) -> Vec<Op> {
        self.sync(verb).expect("the tape has room");
        self.ops()
    }

    /// Draws, and answers the records of that, with those before that nobody has looked at.
    fn draw(&mut self) -> Vec<Op> {
        self.sync(Verb::Draw).expect("the tape has room");
        let info = DrawInfo { mode: 4, num_draws: 1, instance_count: 1, ..DrawInfo::default() };
        self.pipe.draw_vbo(&info, &[DrawRange { start: 0, count: 3, index_bias: 0 }], &[]).unwrap();
        self.ops()
    }

    /// The records since the last look.
    fn ops(&mut self) -> Vec<Op> {
        self.records(|record| record.op())
    }

    fn records<T>(&mut self, mut look: impl FnMut(Record<'_>) -> T) -> Vec<T> {
        let records = std::mem::take(&mut self.pipe.0.records);
        let decoded = records.iter().map(|words| Record::decode(words.as_bytes()).expect("it was valid"));
        decoded.map(&mut look).collect()
    }

    /// The one record of a row since the last look.
    fn one<T>(&mut self, mut look: impl FnMut(Record<'_>) -> Option<T>) -> T {
        let mut found: Vec<_> = self.records(&mut look).into_iter().flatten().collect();
        assert_eq!(found.len(), 1, "records of the row");
        found.remove(0)
    }

    fn blob(&self, blob: BlobRef) -> Vec<u8> {
        self.pipe.0.stage[blob.offset as usize..][..blob.size as usize].to_vec()
    }

    fn mint(&mut self, band: Band) -> Handle {
        self.slots.mint(band, 0).expect("there is room")
    }
}

fn handle(slot: u32) -> Handle {
    Handle::new(slot, 1)
}

fn attribute(offset: u64) -> VertexAttrib {
    VertexAttrib { offset, size: 4, ..VertexAttrib::default() }
}

fn framebuffer(width: u16) -> FramebufferState {
    FramebufferState { width, complete: 1, ..FramebufferState::default() }
}

/// One change of a family: what to do, how often it has been done, and what is sent for it.
struct Change {
    family: Family,
    change: fn(&mut Tracker, u32),
    sends: &'static [Op],
}

/// A change of each family. `n` is the value; the same one again is no change.
static CHANGES: &[Change] = &[
    Change {
        family: Family::Values,
        change: |tracker, n| tracker.values().xfb_generation = u64::from(n),
        sends: &[Op::SetContextValues],
    },
    Change {
        family: Family::Render,
        change: |tracker, n| tracker.render_state().line_width = n as f32,
        sends: &[Op::SetDynamicState],
    },
    Change {
        family: Family::PixelPack,
        change: |tracker, n| tracker.pixel_pack().skip_rows = n as i32,
        sends: &[Op::SetPixelPackState],
    },
    Change {
        family: Family::Patch,
        change: |tracker, n| tracker.patch().vertices = n,
        sends: &[Op::SetPatchState],
    },
    Change {
        family: Family::AttribDefaults,
        change: |tracker, n| tracker.attrib_defaults()[5].uint_view[0] = n,
        sends: &[Op::SetVertexAttribDefaults],
    },
    Change {
        family: Family::VertexElements,
        change: |tracker, n| {
            assert!(tracker.set_vertex_elements(7, u64::from(n), &[attribute(8 * u64::from(n))], &[]))
        },
        sends: &[Op::CreateVertexElements, Op::BindVertexElements],
    },
    Change {
        family: Family::VertexBuffers,
        change: |tracker, n| {
            let buffer = VertexBuffer { offset: u64::from(n), ..VertexBuffer::default() };
            assert!(tracker.vertex_buffers().set_one(3, buffer));
        },
        sends: &[Op::SetVertexBuffers],
    },
    Change {
        family: Family::IndexBuffer,
        change: |tracker, n| tracker.index_buffer().offset = u64::from(n),
        sends: &[Op::SetIndexBuffer],
    },
    Change {
        family: Family::IndirectBuffers,
        change: |tracker, n| tracker.indirect_buffers().parameter = handle(n),
        sends: &[Op::SetIndirectBuffers],
    },
    Change {
        family: Family::SamplerViews,
        change: |tracker, n| {
            let view = BoundView { texture: handle(n), ..BoundView::default() };
            assert!(tracker.sampler_views().set_one(2, view));
        },
        sends: &[Op::SetSamplerViews],
    },
    Change {
        family: Family::SamplerStates,
        change: |tracker, n| assert!(tracker.sampler_states().set_one(2, handle(n))),
        sends: &[Op::BindSamplerStates],
    },
    Change {
        family: Family::ShaderImages,
        change: |tracker, n| {
            assert!(
                tracker.shader_images().set_one(1, ImageView { resource: handle(n), ..ImageView::default() })
            );
        },
        sends: &[Op::SetShaderImages],
    },
    Change {
        family: Family::UniformBuffers,
        change: |tracker, n| {
            let range = BufferRange { offset: 256 * u64::from(n), ..BufferRange::default() };
            assert!(tracker.shader_buffers(ShaderBufferClass::Uniform).buffers.set_one(9, range));
        },
        sends: &[Op::SetShaderBuffers],
    },
    Change {
        family: Family::StorageBuffers,
        change: |tracker, n| tracker.shader_buffers(ShaderBufferClass::Storage).writable[0] = n,
        sends: &[Op::SetShaderBuffers],
    },
    Change {
        family: Family::AtomicBuffers,
        change: |tracker, n| {
            let range = BufferRange { size: u64::from(n), ..BufferRange::default() };
            assert!(tracker.shader_buffers(ShaderBufferClass::Atomic).buffers.set_one(83, range));
        },
        sends: &[Op::SetShaderBuffers],
    },
    Change {
        family: Family::Programs,
        change: |tracker, n| tracker.set_programs(handle(1), handle(n), handle(1)),
        sends: &[Op::SetDrawProgram],
    },
    Change {
        family: Family::Framebuffers,
        change: |tracker, n| {
            tracker.set_framebuffer(FramebufferTarget::Draw, 0, u64::from(n), &framebuffer(n as u16));
        },
        sends: &[Op::SetFramebufferState],
    },
    Change {
        family: Family::ConditionalRender,
        change: |tracker, n| tracker.conditional_render().mode = n,
        sends: &[Op::SetConditionalRender],
    },
    Change {
        family: Family::StreamOutput,
        change: |tracker, n| tracker.set_stream_output(u64::from(n)),
        sends: &[Op::BindStreamOutput],
    },
];

#[test]
fn there_is_a_change_for_every_family() {
    let changed: Vec<_> = CHANGES.iter().map(|change| change.family).collect();
    assert_eq!(changed, Family::ALL);
}

#[test]
fn a_first_draw_sends_what_no_verb_goes_without_and_nothing_that_is_the_default() {
    let mut client = Client::new();
    let first = [
        Op::SetContextValues,
        Op::CreateRenderState,
        Op::BindRenderState,
        Op::SetSamplerViews,
        Op::BindSamplerStates,
        Op::DrawVbo,
    ];
    assert_eq!(client.draw(), first);
}

#[test]
fn an_unchanged_draw_is_one_record() {
    let mut client = Client::steady();
    for _ in 0..3 {
        assert_eq!(client.draw(), [Op::DrawVbo]);
    }
}

#[test]
fn one_uniform_block_changed_and_a_draw_are_two_records() {
    let mut client = Client::steady();
    let mut constants = Constants::<Heap>::default();
    assert!(constants.relinked(64));
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    client.draw();
    assert!(constants.set(16, &[1, 2, 3, 4]));
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(client.draw(), [Op::SetGlobalConstants, Op::DrawVbo]);

    let window = client.tracker.shader_buffers(ShaderBufferClass::Uniform);
    assert!(window.buffers.set_one(0, BufferRange { resource: handle(4), offset: 0, size: 256 }));
    assert_eq!(client.draw(), [Op::SetShaderBuffers, Op::DrawVbo]);
}

#[test]
fn each_family_sends_its_row_when_it_changes_and_nothing_when_it_does_not() {
    for Change { family, change, sends } in CHANGES {
        let mut client = Client::steady();
        change(&mut client.tracker, 1);
        client.draw();
        let mut expect = |n: u32, expected: &[Op]| {
            change(&mut client.tracker, n);
            let sent = client.draw();
            assert_eq!(sent.split_last(), Some((&Op::DrawVbo, expected)), "{family:?} set to {n}");
        };
        // The layout is bound already; later on its content alone is new.
        let sends: &[Op] = if *family == Family::VertexElements { &sends[..1] } else { sends };
        expect(1, &[]);
        expect(2, sends);
        expect(2, &[]);
        expect(1, sends);
        expect(1, &[]);
    }
}

#[cfg(feature = "compare")]
#[test]
fn each_family_that_is_blinded_sends_nothing() {
    for Change { family, change, .. } in CHANGES {
        let mut client = Client::steady();
        client.tracker.blind(runahead_core::tracker::Dirty::of(*family));
        change(&mut client.tracker, 2);
        assert_eq!(client.draw(), [Op::DrawVbo], "{family:?}");
    }
}

#[test]
fn lost_updates_a_pipe_that_fails_at_any_record_leaves_the_rest_to_the_next_sync() {
    let whole = |room: Option<usize>| {
        let mut client = Client::new();
        for Change { change, .. } in CHANGES {
            change(&mut client.tracker, 2);
        }
        client.pipe.0.room = room;
        let synced = client.sync(Verb::Draw);
        (client, synced)
    };
    let (mut client, synced) = whole(None);
    assert_eq!(synced, Ok(()));
    let expected = client.records(|record| (record.op(), record.payload_bytes().to_vec()));
    assert!(expected.len() > Family::ALL.len());
    for room in 0..expected.len() {
        let (mut client, synced) = whole(Some(room));
        assert_eq!(synced, Err(SyncError::Pipe(Full)), "room for {room}");
        assert!(!client.tracker.dirty().is_empty());
        client.pipe.0.room = None;
        assert_eq!(client.sync(Verb::Draw), Ok(()));
        assert!(client.tracker.dirty().is_empty());
        // The stage moved on by what was staged in vain, so blobs lie elsewhere: ops, and payloads without.
        let sent = client.records(|record| (record.op(), record.payload_bytes().to_vec()));
        let ops = |records: &[(Op, Vec<u8>)]| records.iter().map(|(op, _)| *op).collect::<Vec<_>>();
        assert_eq!(ops(&sent), ops(&expected), "room for {room}");
        for ((op, sent), (_, expected)) in sent.iter().zip(&expected) {
            if op.info().blobs.is_empty() && *op != Op::BindRenderState {
                assert_eq!(sent, expected, "{op:?} with room for {room}");
            }
        }
    }
}

#[test]
fn a_clear_sends_what_it_needs_and_leaves_the_rest_for_the_draw() {
    let mut client = Client::steady();
    client.tracker.patch().vertices = 9;
    client.tracker.attrib_defaults()[0].int_view[0] = 4;
    client.tracker.render_state().clear_depth = 0.5;
    assert_eq!(client.synced(Verb::Clear), [Op::SetDynamicState]);
    assert_eq!(client.draw(), [Op::SetPatchState, Op::SetVertexAttribDefaults, Op::DrawVbo]);
}

#[test]
fn every_verb_that_the_server_checks_sends_every_family_that_names_objects() {
    // A texture dies while another context is current: no verb of this one may find it in the old window.
    for verb in [Verb::Draw, Verb::Dispatch, Verb::Clear, Verb::Blit, Verb::ReadPixels, Verb::CopyFramebuffer]
    {
        let mut client = Client::steady();
        let texture = client.mint(Band::Texture);
        let view = BoundView { texture, ..BoundView::default() };
        assert!(client.tracker.sampler_views().set_one(0, view));
        client.draw();
        assert!(client.tracker.sampler_views().set_one(0, BoundView::default()));
        assert_eq!(client.synced(verb), [Op::SetSamplerViews], "{verb:?}");
    }
    for verb in [Verb::ReadTexture, Verb::StreamOutput] {
        assert!(!verb.needs().contains(Family::SamplerViews));
    }
}

#[test]
fn the_windows_of_views_and_samplers_cover_every_unit_that_was_touched() {
    let mut client = Client::new();
    client.tracker.values().max_touched_texture_unit = 4;
    assert!(
        client.tracker.sampler_views().set(2, &[BoundView { texture: handle(3), ..BoundView::default() }])
    );
    client.sync(Verb::Draw).unwrap();
    let windows = client.records(|record| match record {
        Record::SetSamplerViews(row) => {
            assert_eq!(row.payload.start, 0);
            let units: Vec<_> = row.views.iter().map(|view| view.unit).collect();
            assert_eq!(units, [0, 1, 2, 3, 4]);
            assert_eq!(row.views[2].texture, handle(3));
            1
        }
        Record::BindSamplerStates(row) => {
            assert_eq!((row.payload.start, row.samplers.len()), (0, 5));
            1
        }
        _ => 0,
    });
    assert_eq!(windows.iter().sum::<u32>(), 2);

    // A clear sends the values; the windows that they widen come with it, or no later than the next draw.
    client.tracker.values().max_touched_texture_unit = 6;
    let after = client.synced(Verb::ReadTexture);
    assert_eq!(after, [Op::SetContextValues]);
    assert_eq!(client.draw(), [Op::SetSamplerViews, Op::BindSamplerStates, Op::DrawVbo]);
}

#[test]
fn a_window_that_is_sent_for_a_death_covers_every_unit_that_was_touched() {
    let mut client = Client::new();
    client.tracker.values().max_touched_texture_unit = 4;
    let bound = |texture| BoundView { texture, ..BoundView::default() };
    assert!(client.tracker.sampler_views().set_one(1, bound(DYING)));
    client.draw();
    *client.tracker.sampler_views() = Window::default();
    assert!(client.tracker.sampler_views().set(0, &[bound(handle(2))]));
    client.forget(Kind::Texture, DYING).unwrap();
    let views = client.one(|record| match record {
        Record::SetSamplerViews(row) => Some(row.views.len()),
        _ => None,
    });
    assert_eq!(views, 5);
}

#[test]
fn an_open_span_of_capture_is_not_bound_again() {
    let mut client = Client::with(Knobs { suppressors: false, ..Knobs::default() });
    client.tracker.set_stream_output(3);
    assert!(client.draw().contains(&Op::BindStreamOutput));
    for (active, paused, bound) in [(1, 0, false), (1, 1, true), (0, 0, true)] {
        (client.tracker.values().xfb_active, client.tracker.values().xfb_paused) = (active, paused);
        assert_eq!(client.draw().contains(&Op::BindStreamOutput), bound, "{active} {paused}");
    }
}

#[test]
fn a_nan_equals_itself() {
    let mut client = Client::steady();
    client.tracker.patch().outer[0] = f32::NAN;
    client.tracker.render_state().point_size = f32::NAN;
    assert_eq!(client.draw(), [Op::SetDynamicState, Op::SetPatchState, Op::DrawVbo]);
    client.tracker.patch().outer[0] = f32::NAN;
    client.tracker.render_state().point_size = f32::NAN;
    assert_eq!(client.draw(), [Op::DrawVbo]);
}

#[test]
fn current_values_that_changed_are_sent_alone() {
    let mut client = Client::steady();
    let values = client.tracker.attrib_defaults();
    values[1] = AttribValue { float_view: [0, 0, 7, 0], ..AttribValue::default() };
    values[30].value_class = 1;
    client.sync(Verb::Draw).unwrap();
    let sent = client.one(|record| match record {
        Record::SetVertexAttribDefaults(row) => Some((row.payload.mask, row.values.to_vec())),
        _ => None,
    });
    assert_eq!(sent.0, 1 << 1 | 1 << 30);
    assert_eq!((sent.1[0].location, sent.1[0].float_view[2]), (1, 7));
    assert_eq!((sent.1[1].location, sent.1[1].value_class), (30, 1));
}

#[test]
fn a_reset_sends_again_what_is_not_the_default_and_makes_no_object_again() {
    let mut client = Client::new();
    for Change { change, .. } in CHANGES {
        change(&mut client.tracker, 2);
    }
    client.tracker.render_state().depth_test = 1;
    client.draw();
    client.tracker.reset();
    let again = client.draw();
    for Change { family, sends, .. } in CHANGES {
        let expected = sends.iter().filter(|op| **op != Op::CreateVertexElements);
        for op in expected {
            assert!(again.contains(op), "{family:?}: {op:?}");
        }
    }
    for op in [Op::CreateRenderState, Op::CreateVertexElements] {
        assert!(!again.contains(&op), "{op:?}");
    }
    assert!(again.contains(&Op::BindRenderState));
}

// Render states.

/// Makes the n-th of many different pipeline halves the wanted one.
fn pipeline(tracker: &mut Tracker, n: u32) {
    tracker.render_state().sample_mask_value = n;
}

/// What was created, bound and deleted.
#[derive(Debug, Default, PartialEq)]
struct Csos {
    created: Vec<Handle>,
    bound: Vec<Handle>,
    deleted: Vec<Handle>,
}

impl Client {
    fn csos(&mut self) -> Csos {
        let mut csos = Csos::default();
        self.records(|record| match record {
            Record::CreateRenderState(row) => csos.created.push(row.payload.cso),
            Record::BindRenderState(row) => csos.bound.push(row.payload.cso),
            Record::DeleteRenderState(row) => csos.deleted.push(row.payload.handle),
            _ => {}
        });
        csos
    }

    fn pipeline(&mut self, n: u32) -> Csos {
        pipeline(&mut self.tracker, n);
        self.sync(Verb::Draw).unwrap();
        self.csos()
    }
}

fn creation(record: Record<'_>) -> Option<(Handle, Handle, u32, BlobRef)> {
    match record {
        Record::CreateRenderState(rows::CreateRenderState { payload }) => {
            Some((payload.cso, payload.base_cso, payload.chunk_mask, payload.blob))
        }
        _ => None,
    }
}

#[test]
fn a_first_render_state_is_whole_and_a_later_one_the_chunks_that_differ_from_the_bound_one() {
    let mut client = Client::new();
    client.sync(Verb::Draw).unwrap();
    let (first, base, mask, blob) = client.one(creation);
    assert_eq!((base, mask, blob.size), (Handle::NULL, Half::Pipeline.all(), 396));

    let state = client.tracker.render_state();
    state.depth_test = 1;
    state.polygon_mode_back = 1;
    let expected = *state;
    client.sync(Verb::Draw).unwrap();
    let (_, base, mask, blob) = client.one(creation);
    // Depth test lies in chunk 1, polygon modes in chunk 5.
    assert_eq!((base, mask), (first, 1 << 1 | 1 << 5));
    let chunks = Half::Pipeline.chunks(&CHUNKS).filter(|(bit, _)| mask & 1 << bit != 0);
    let bytes: Vec<u8> = chunks.flat_map(|(_, chunk)| chunk.of(&expected).to_vec()).collect();
    assert_eq!(client.blob(blob), bytes);
}

#[test]
fn a_render_state_that_was_there_before_is_bound_and_not_made() {
    let mut client = Client::new();
    let first = client.pipeline(1);
    let second = client.pipeline(2);
    assert_eq!((first.created.len(), second.created.len()), (1, 1));
    let again = client.pipeline(1);
    assert_eq!(again, Csos { bound: first.created, ..Csos::default() });
    assert_eq!(client.pipeline(1), Csos::default());
}

#[test]
fn the_render_state_used_longest_ago_makes_room() {
    let mut client = Client::new();
    let most = CACHED_RENDER_STATES as u32;
    let csos: Vec<_> = (0..most).map(|n| client.pipeline(n).created[0]).collect();
    assert_eq!(client.slots.live(Band::RenderState), most);
    // Number 0 is used again, and then another one, so number 1 is the oldest.
    client.pipeline(0);
    client.pipeline(5);
    let over = client.pipeline(most);
    assert_eq!(over.deleted, [csos[1]]);
    assert_eq!(client.slots.live(Band::RenderState), most);
    // Its slot is used again, with another generation.
    assert_eq!((over.created[0].slot, over.created[0].generation), (csos[1].slot, 2));
    assert_eq!(client.pipeline(0).bound, [csos[0]]);
    assert_eq!(client.pipeline(1).deleted, [csos[2]]);
}

#[test]
fn the_bound_render_state_is_never_deleted() {
    let mut client = Client::new();
    let bound = client.pipeline(0).created[0];
    // States are made, but none can be bound: the bound one gets older than all.
    for n in 1..=2 * CACHED_RENDER_STATES as u32 {
        pipeline(&mut client.tracker, n);
        let makes_room = n >= CACHED_RENDER_STATES as u32;
        client.pipe.0.room = Some(if makes_room { 2 } else { 1 });
        assert_eq!(client.sync(Verb::Draw), Err(SyncError::Pipe(Full)));
        let csos = client.csos();
        assert_eq!((csos.created.len(), csos.deleted.len()), (1, usize::from(makes_room)), "{n}");
        assert!(!csos.deleted.contains(&bound), "the bound one was deleted for number {n}");
    }
    client.pipe.0.room = None;
    assert_eq!(client.pipeline(0), Csos::default(), "it is bound still");
}

#[test]
fn a_reset_binds_the_render_state_again_even_if_it_is_the_default() {
    let mut client = Client::new();
    client.sync(Verb::Draw).unwrap();
    let default = client.csos().bound;
    client.tracker.reset();
    client.sync(Verb::Draw).unwrap();
    assert_eq!(client.csos(), Csos { bound: default, ..Csos::default() });
    // What was bound before a reset is no base: the server has the default state.
    client.tracker.render_state().depth_test = 1;
    client.sync(Verb::Draw).unwrap();
    client.ops();
    client.tracker.reset();
    client.tracker.render_state().depth_test = 1;
    client.tracker.render_state().logic_op = 2;
    client.sync(Verb::Draw).unwrap();
    let (_, base, mask, _) = client.one(creation);
    assert_eq!((base, mask), (Handle::NULL, Half::Pipeline.all()));
}

#[test]
fn without_a_cache_every_change_makes_a_render_state_and_deletes_the_one_before() {
    let mut client = Client::with(Knobs { cso_cache: false, ..Knobs::default() });
    let mut before = client.pipeline(1).created[0];
    for n in [2, 1, 2] {
        let csos = client.pipeline(n);
        assert_eq!((csos.created.len(), &csos.deleted), (1, &vec![before]));
        assert_eq!(csos.bound, csos.created);
        before = csos.created[0];
        assert_eq!(client.slots.live(Band::RenderState), 1);
    }
    assert_eq!(client.pipeline(2), Csos::default());
}

#[test]
fn without_a_cache_and_suppressors_every_verb_makes_a_render_state() {
    let mut client = Client::with(Knobs { cso_cache: false, suppressors: false });
    let first = client.pipeline(1).created[0];
    let second = client.pipeline(1);
    assert_eq!((second.created.len(), second.deleted), (1, vec![first]));
}

#[test]
fn without_a_cache_a_render_state_that_could_not_be_bound_is_deleted_too() {
    let mut client = Client::with(Knobs { cso_cache: false, ..Knobs::default() });
    client.pipeline(1);
    pipeline(&mut client.tracker, 2);
    client.pipe.0.room = Some(1);
    assert_eq!(client.sync(Verb::Draw), Err(SyncError::Pipe(Full)));
    client.pipe.0.room = None;
    client.pipeline(3);
    assert_eq!(client.slots.live(Band::RenderState), 1);
}

#[test]
fn the_end_of_a_context_deletes_its_render_states() {
    let mut client = Client::new();
    let made: Vec<_> = (0..5).map(|n| client.pipeline(n).created[0]).collect();
    client.tracker.end(&mut client.pipe, &mut client.slots).unwrap();
    assert_eq!(client.csos().deleted, made);
    assert_eq!(client.slots.live(Band::RenderState), 0);
}

#[test]
fn dynamic_chunks_that_changed_are_sent_alone() {
    let mut client = Client::steady();
    let state = client.tracker.render_state();
    state.blend_color[1] = 0.25;
    state.stencil_back_ref = 5;
    let expected = *state;
    client.sync(Verb::Draw).unwrap();
    let (mask, blob) = client.one(|record| match record {
        Record::SetDynamicState(row) => Some((row.payload.chunk_mask, row.payload.blob)),
        _ => None,
    });
    assert_eq!(mask, 1 << 2 | 1 << 4);
    let chunks = Half::Dynamic.chunks(&CHUNKS).filter(|(bit, _)| mask & 1 << bit != 0);
    let bytes: Vec<u8> = chunks.flat_map(|(_, chunk)| chunk.of(&expected).to_vec()).collect();
    assert_eq!(client.blob(blob), bytes);
}

#[test]
fn without_suppressors_every_verb_sends_all_that_it_needs() {
    let mut client = Client::with(Knobs { suppressors: false, ..Knobs::default() });
    for Change { change, .. } in CHANGES {
        change(&mut client.tracker, 2);
    }
    let first = client.draw();
    for Change { family, sends, .. } in CHANGES {
        for op in *sends {
            assert!(first.contains(op), "{family:?}: {op:?}");
        }
    }
    // The render state is there already.
    let second: Vec<_> = first.into_iter().filter(|op| *op != Op::CreateRenderState).collect();
    assert_eq!(client.draw(), second);
    assert!(!client.synced(Verb::Clear).contains(&Op::SetPatchState));
}

// Vertex layouts.

#[test]
fn a_layout_is_made_once_and_again_on_the_same_handle_when_its_content_changes() {
    let mut client = Client::steady();
    let set = |client: &mut Client, id: u64, version: u64| {
        let points = [VertexBindingPoint { offset: version, ..VertexBindingPoint::default() }];
        assert!(client.tracker.set_vertex_elements(
            id,
            version,
            &[attribute(id), attribute(version)],
            &points
        ));
        client.draw()
    };
    assert_eq!(set(&mut client, 1, 10), [Op::CreateVertexElements, Op::BindVertexElements, Op::DrawVbo]);
    assert_eq!(set(&mut client, 2, 10), [Op::CreateVertexElements, Op::BindVertexElements, Op::DrawVbo]);
    let [first, second] = [1, 2].map(|id| client.slots.find(Band::VertexElements, id).unwrap());
    assert_ne!(first, second);
    assert_eq!(set(&mut client, 1, 10), [Op::BindVertexElements, Op::DrawVbo]);
    assert_eq!(set(&mut client, 1, 11), [Op::CreateVertexElements, Op::DrawVbo]);
    assert_eq!(client.slots.find(Band::VertexElements, 1), Some(first));
    assert_eq!(client.tracker.wanted().vertex_elements, first);
    // Version 0 is a version as any other.
    assert_eq!(set(&mut client, 3, 0), [Op::CreateVertexElements, Op::BindVertexElements, Op::DrawVbo]);
    assert_eq!(set(&mut client, 0, 0), [Op::BindVertexElements, Op::DrawVbo]);
    assert_eq!(client.tracker.sent().vertex_elements, Handle::NULL);
}

#[test]
fn a_layout_travels_as_attributes_then_points() {
    let mut client = Client::steady();
    let attributes = [attribute(4), VertexAttrib { stride: 12, ..attribute(16) }];
    let points = [VertexBindingPoint { offset: 64, stride: 16, divisor: 1 }];
    assert!(client.tracker.set_vertex_elements(1, 1, &attributes, &points));
    client.sync(Verb::Draw).unwrap();
    let elements = client.one(|record| match record {
        Record::CreateVertexElements(row) => Some(*row.payload),
        _ => None,
    });
    assert_eq!((elements.attribute_count, elements.binding_point_count), (2, 1));
    assert_eq!(client.blob(elements.blob), [attributes.as_bytes(), points.as_bytes()].concat());
}

#[test]
fn a_layout_that_is_too_large_changes_nothing() {
    let mut client = Client::steady();
    assert!(!client.tracker.set_vertex_elements(1, 1, &[attribute(0); 33], &[]));
    assert!(!client.tracker.set_vertex_elements(1, 1, &[], &[VertexBindingPoint::default(); 33]));
    assert_eq!(client.draw(), [Op::DrawVbo]);
    let (attributes, points) = ([attribute(1); 32], [VertexBindingPoint::default(); 32]);
    assert!(client.tracker.set_vertex_elements(1, 1, &attributes, &points));
    client.draw();
}

// Framebuffers.

impl Client {
    /// Target and handle of the framebuffer records before a draw.
    fn framebuffers(&mut self) -> Vec<(FramebufferTarget, Handle, u16)> {
        self.sync(Verb::Draw).unwrap();
        let sent = self.records(|record| match record {
            Record::SetFramebufferState(row) => {
                let state = row.payload;
                assert_eq!(state.is_default(), Some(state.fbo == Handle::DEFAULT_FRAMEBUFFER));
                Some((state.target().unwrap(), state.fbo, state.width))
            }
            _ => None,
        });
        sent.into_iter().flatten().collect()
    }

    fn fbo(&self, id: u64) -> Handle {
        self.slots.find(Band::Framebuffer, id).expect("it has a handle")
    }
}

use FramebufferTarget::{Both, Draw, Named, Read};

#[test]
fn one_record_carries_content_and_binding_of_both_targets() {
    let mut client = Client::steady();
    client.tracker.set_framebuffer(Both, 5, 1, &framebuffer(10));
    let sent = client.framebuffers();
    assert_eq!(sent, [(Both, client.fbo(5), 10)]);
    // Content alone.
    client.tracker.set_framebuffer(Both, 5, 2, &framebuffer(20));
    assert_eq!(client.framebuffers(), [(Both, client.fbo(5), 20)]);
    // Other objects.
    client.tracker.set_framebuffer(Draw, 6, 1, &framebuffer(30));
    let sent = client.framebuffers();
    assert_eq!(sent, [(Draw, client.fbo(6), 30)]);
    client.tracker.set_framebuffer(Read, 6, 1, &framebuffer(30));
    assert_eq!(client.framebuffers(), [(Read, client.fbo(6), 30)]);
    assert_eq!(client.framebuffers(), []);
    // Back to one that the server knows: its binding travels with its content.
    client.tracker.set_framebuffer(Read, 5, 2, &framebuffer(20));
    assert_eq!(client.framebuffers(), [(Read, client.fbo(5), 20)]);
    client.tracker.set_framebuffer(Draw, 7, 1, &framebuffer(1));
    client.tracker.set_framebuffer(Read, 8, 1, &framebuffer(2));
    let sent = client.framebuffers();
    assert_eq!(sent, [(Draw, client.fbo(7), 1), (Read, client.fbo(8), 2)]);
}

#[test]
fn content_that_is_set_through_one_target_is_that_of_the_other() {
    let mut client = Client::steady();
    client.tracker.set_framebuffer(Both, 5, 1, &framebuffer(10));
    client.framebuffers();
    // The new content is set for draws; then something else is bound there.
    client.tracker.set_framebuffer(Draw, 5, 2, &framebuffer(20));
    client.tracker.set_framebuffer(Draw, 0, 1, &framebuffer(1));
    let sent = client.framebuffers();
    assert_eq!(sent, [(Draw, Handle::DEFAULT_FRAMEBUFFER, 1), (Read, client.fbo(5), 20)]);
}

#[test]
fn the_default_framebuffer_is_sent_again_after_a_reset_and_the_others_for_their_binding() {
    let mut client = Client::steady();
    client.tracker.set_framebuffer(Draw, 0, 4, &framebuffer(10));
    client.tracker.set_framebuffer(Read, 5, 1, &framebuffer(20));
    client.framebuffers();
    assert_eq!(client.tracker.sent().default_framebuffer.width, 10);
    client.tracker.set_framebuffer(Read, 6, 1, &framebuffer(30));
    assert_eq!(client.framebuffers(), [(Read, client.fbo(6), 30)], "the default one is known");
    client.tracker.set_framebuffer(Read, 5, 1, &framebuffer(20));
    client.framebuffers();
    client.tracker.reset();
    let sent = client.framebuffers();
    assert_eq!(sent, [(Draw, Handle::DEFAULT_FRAMEBUFFER, 10), (Read, client.fbo(5), 20)]);
}

#[test]
fn a_framebuffer_that_a_verb_names_is_sent_when_its_content_is_new() {
    let mut client = Client::steady();
    let name = |client: &mut Client, version: u64| {
        let state = framebuffer(version as u16);
        let fbo = client.tracker.named_framebuffer(5, version, &state, &mut client.pipe, &mut client.slots);
        (fbo.unwrap(), client.ops())
    };
    let (fbo, sent) = name(&mut client, 1);
    assert_eq!(sent, [Op::SetFramebufferState]);
    assert_eq!(name(&mut client, 1), (fbo, vec![]));
    assert_eq!(client.tracker.sent().draw_framebuffer, Handle::NULL, "it is not bound");
    // Bound, it keeps the content that was set by its name.
    client.tracker.set_framebuffer(Draw, 5, 1, &framebuffer(1));
    assert_eq!(client.framebuffers(), [(Draw, fbo, 1)]);
    name(&mut client, 2);
    assert_eq!(client.framebuffers(), []);
    client.tracker.set_framebuffer(Named, 5, 3, &framebuffer(3));
    assert_eq!(client.framebuffers(), [(Draw, fbo, 3)]);
    let default =
        client.tracker.named_framebuffer(0, 1, &framebuffer(9), &mut client.pipe, &mut client.slots);
    assert_eq!(default, Ok(Handle::DEFAULT_FRAMEBUFFER));
    client.ops();
    // A reset clears the context's own framebuffer, and no other.
    client.tracker.reset();
    assert_eq!(name(&mut client, 3), (fbo, vec![]));
    let default =
        client.tracker.named_framebuffer(0, 1, &framebuffer(9), &mut client.pipe, &mut client.slots);
    assert_eq!((default, client.ops()), (Ok(Handle::DEFAULT_FRAMEBUFFER), vec![Op::SetFramebufferState]));
}

// The end of objects.

/// Kinds of objects with ways to bind them, each with the records that let go.
type Binding = (Kind, fn(&mut Tracker, Handle), &'static [Op]);

static BINDINGS: &[Binding] = &[
    (
        Kind::Buffer,
        |tracker, resource| {
            assert!(
                tracker.vertex_buffers().set_one(1, VertexBuffer { resource, ..VertexBuffer::default() })
            );
        },
        &[Op::SetVertexBuffers],
    ),
    (
        Kind::Buffer,
        |tracker, resource| *tracker.index_buffer() = IndexBuffer { resource, ..IndexBuffer::default() },
        &[Op::SetIndexBuffer],
    ),
    (
        Kind::Buffer,
        |tracker, buffer| tracker.indirect_buffers().draw_indirect = buffer,
        &[Op::SetIndirectBuffers],
    ),
    (
        Kind::Buffer,
        |tracker, buffer| {
            *tracker.indirect_buffers() = IndirectBuffers { parameter: buffer, draw_indirect: buffer }
        },
        &[Op::SetIndirectBuffers],
    ),
    (
        Kind::Buffer,
        |tracker, buffer| bind_range(tracker, ShaderBufferClass::Uniform, buffer),
        &[Op::SetShaderBuffers],
    ),
    (
        Kind::Buffer,
        |tracker, buffer| bind_range(tracker, ShaderBufferClass::Storage, buffer),
        &[Op::SetShaderBuffers],
    ),
    (
        Kind::Buffer,
        |tracker, buffer| bind_range(tracker, ShaderBufferClass::Atomic, buffer),
        &[Op::SetShaderBuffers],
    ),
    (
        Kind::Texture,
        |tracker, texture| {
            assert!(tracker.sampler_views().set_one(1, BoundView { texture, ..BoundView::default() }));
        },
        &[Op::SetSamplerViews],
    ),
    (
        Kind::Texture,
        |tracker, resource| {
            assert!(tracker.shader_images().set_one(1, ImageView { resource, ..ImageView::default() }));
        },
        &[Op::SetShaderImages],
    ),
    (
        Kind::Texture,
        |tracker, texture| attach(tracker, SurfaceKind::Texture, texture),
        &[Op::SetFramebufferState],
    ),
    (
        Kind::Renderbuffer,
        |tracker, renderbuffer| attach(tracker, SurfaceKind::Renderbuffer, renderbuffer),
        &[Op::SetFramebufferState],
    ),
    (
        Kind::SamplerViewCso,
        |tracker, view| {
            assert!(tracker.sampler_views().set_one(1, BoundView { view, ..BoundView::default() }));
        },
        &[Op::SetSamplerViews],
    ),
    (
        Kind::SamplerCso,
        |tracker, sampler| assert!(tracker.sampler_states().set_one(1, sampler)),
        &[Op::BindSamplerStates],
    ),
    (
        Kind::ShaderCso,
        |tracker, program| tracker.set_programs(program, Handle::NULL, Handle::NULL),
        &[Op::BindShaderState],
    ),
    (
        Kind::ShaderCso,
        |tracker, program| tracker.set_programs(Handle::NULL, program, program),
        &[Op::SetDrawProgram, Op::SetDispatchProgram],
    ),
    (
        Kind::Query,
        |tracker, query| {
            *tracker.conditional_render() = ConditionalRender { query, ..ConditionalRender::default() }
        },
        &[Op::SetConditionalRender],
    ),
];

fn bind_range(tracker: &mut Tracker, class: ShaderBufferClass, resource: Handle) {
    assert!(tracker.shader_buffers(class).buffers.set_one(1, BufferRange { resource, offset: 0, size: 4 }));
}

fn attach(tracker: &mut Tracker, kind: SurfaceKind, resource: Handle) {
    let surface = Surface { resource, kind: kind.raw8(), ..Surface::default() };
    let mut state = FramebufferState { depth: surface, ..framebuffer(1) };
    state.color[3] = surface;
    tracker.set_framebuffer(Both, 5, 1, &state);
}

/// Whether any record since the last look has the handle's bytes in payload or tail, at a place of a handle.
fn names(client: &mut Client, handle: Handle) -> bool {
    let words = std::mem::take(&mut client.pipe.0.records);
    let named = words.iter().any(|record| {
        // Behind the header.
        record.as_bytes()[8..]
            .chunks(4)
            .collect::<Vec<_>>()
            .windows(2)
            .any(|pair| pair[0] == handle.slot.as_bytes() && pair[1] == handle.generation.as_bytes())
    });
    client.pipe.0.records = words;
    named
}

/// A handle that no count or number looks like.
const DYING: Handle = Handle::new(0x5EED_0001, 0x5EED_0002);

#[test]
fn identity_the_binding_of_an_object_is_let_go_of_before_its_death() {
    for (case, (kind, bind, sends)) in BINDINGS.iter().enumerate() {
        let mut client = Client::steady();
        bind(&mut client.tracker, DYING);
        client.sync(Verb::Draw).unwrap();
        assert!(names(&mut client, DYING), "{kind:?} {case}: the server was told");
        client.ops();
        client.forget(*kind, DYING).unwrap();
        assert!(!names(&mut client, DYING), "{kind:?} {case}");
        assert_eq!(client.ops(), *sends, "{kind:?} {case}");
        // Nothing is left to tell.
        assert_eq!(client.draw(), [Op::DrawVbo], "{kind:?} {case}");
    }
}

#[test]
fn a_binding_that_the_server_never_heard_of_is_let_go_of_in_silence() {
    for (case, (kind, bind, sends)) in BINDINGS.iter().enumerate() {
        let mut client = Client::steady();
        bind(&mut client.tracker, DYING);
        client.forget(*kind, DYING).unwrap();
        // What the server has attached is not known, so framebuffers are sent in any case.
        let sent = if *sends == [Op::SetFramebufferState] { *sends } else { &[] };
        assert!(!names(&mut client, DYING), "{kind:?} {case}");
        assert_eq!(client.ops(), sent, "{kind:?} {case}");
        client.sync(Verb::Draw).unwrap();
        assert!(!names(&mut client, DYING), "{kind:?} {case}");
    }
}

#[test]
fn a_binding_that_was_already_replaced_is_sent_at_the_death() {
    for (case, (kind, bind, sends)) in BINDINGS.iter().enumerate() {
        let mut client = Client::steady();
        bind(&mut client.tracker, DYING);
        client.draw();
        if *kind != Kind::Texture && *kind != Kind::Renderbuffer {
            bind(&mut client.tracker, Handle::NULL);
        }
        client.forget(*kind, DYING).unwrap();
        assert!(!names(&mut client, DYING), "{kind:?} {case}");
        assert_eq!(client.ops(), *sends, "{kind:?} {case}");
    }
}

#[test]
fn an_object_that_nothing_names_dies_in_silence() {
    for kind in Kind::ALL {
        let mut client = Client::steady();
        for (_, bind, _) in BINDINGS {
            bind(&mut client.tracker, handle(1));
        }
        client.draw();
        client.forget(*kind, DYING).unwrap();
        client.forget(*kind, Handle::NULL).unwrap();
        assert_eq!(client.ops(), [], "{kind:?}");
    }
}

#[test]
fn a_death_that_could_not_be_told_can_be_told_again() {
    for (case, (kind, bind, sends)) in BINDINGS.iter().enumerate() {
        let mut client = Client::steady();
        bind(&mut client.tracker, DYING);
        client.draw();
        client.pipe.0.room = Some(0);
        assert_eq!(client.forget(*kind, DYING), Err(SyncError::Pipe(Full)), "{kind:?} {case}");
        client.pipe.0.room = None;
        client.forget(*kind, DYING).unwrap();
        assert_eq!(client.ops(), *sends, "{kind:?} {case}");
    }
}

#[test]
fn a_layout_that_dies_is_unbound() {
    let mut client = Client::steady();
    assert!(client.tracker.set_vertex_elements(1, 1, &[attribute(0)], &[]));
    client.draw();
    let layout = client.tracker.sent().vertex_elements;
    client.forget(Kind::VertexElementsCso, layout).unwrap();
    assert_eq!(client.ops(), [Op::BindVertexElements]);
    assert_eq!(client.tracker.sent().vertex_elements, Handle::NULL);
    assert_eq!(client.draw(), [Op::DrawVbo]);
    // Replaced before, and the server not told yet.
    assert!(client.tracker.set_vertex_elements(2, 1, &[attribute(0)], &[]));
    client.draw();
    let layout = client.tracker.sent().vertex_elements;
    assert!(client.tracker.set_vertex_elements(3, 1, &[attribute(0)], &[]));
    client.forget(Kind::VertexElementsCso, layout).unwrap();
    assert_eq!(client.ops(), [Op::CreateVertexElements, Op::BindVertexElements]);
}

#[test]
fn a_framebuffer_that_dies_makes_room_for_that_of_the_surfaces() {
    let mut client = Client::steady();
    client.tracker.set_framebuffer(Draw, 0, 3, &framebuffer(640));
    client.framebuffers();
    client.tracker.set_framebuffer(Both, 5, 1, &framebuffer(10));
    client.framebuffers();
    let fbo = client.fbo(5);
    client.forget(Kind::Framebuffer, fbo).unwrap();
    let sent = client.one(|record| match record {
        Record::SetFramebufferState(row) => {
            Some((row.payload.target().unwrap(), row.payload.fbo, row.payload.width))
        }
        _ => None,
    });
    assert_eq!(sent, (Both, Handle::DEFAULT_FRAMEBUFFER, 640));
    assert_eq!(client.draw(), [Op::DrawVbo]);
}

#[test]
fn a_framebuffer_that_dies_before_there_is_a_default_one_leaves_one_that_is_not_complete() {
    let mut client = Client::steady();
    client.tracker.set_framebuffer(Read, 5, 1, &framebuffer(10));
    client.framebuffers();
    client.forget(Kind::Framebuffer, client.fbo(5)).unwrap();
    let sent = client.one(|record| match record {
        Record::SetFramebufferState(row) => Some((row.payload.fbo, row.payload.complete)),
        _ => None,
    });
    assert_eq!(sent, (Handle::DEFAULT_FRAMEBUFFER, 0));
    client.tracker.set_framebuffer(Read, 0, 0, &framebuffer(640));
    assert_eq!(client.framebuffers(), [(Read, Handle::DEFAULT_FRAMEBUFFER, 640)]);
}

#[test]
fn a_transform_feedback_object_that_dies_makes_room_for_the_default_one() {
    let mut client = Client::steady();
    client.tracker.set_stream_output(8);
    client.draw();
    client.tracker.forget_stream_output(9, &mut client.pipe, &mut client.slots).unwrap();
    assert_eq!(client.ops(), []);
    client.tracker.forget_stream_output(8, &mut client.pipe, &mut client.slots).unwrap();
    assert_eq!(client.ops(), [Op::BindStreamOutput]);
    assert_eq!(client.tracker.sent().stream_output, 0);
}

// Samplers.

fn sampler(n: u32) -> SamplerParameters {
    SamplerParameters { min_lod: n as f32, ..SamplerParameters::default() }
}

#[test]
fn equal_samplers_are_one_whatever_their_padding_holds() {
    let (mut client, mut cache) = (Client::new(), SamplerCache::<4>::default());
    let dirty = SamplerParameters { _pad: [1, 2, 3], ..sampler(1) };
    let first = cache.acquire(&dirty, &mut client.pipe, &mut client.slots).unwrap();
    let blob = client.one(|record| match record {
        Record::CreateSamplerState(row) => Some(row.payload.parameters),
        _ => None,
    });
    assert_eq!(client.blob(blob), sampler(1).as_bytes());
    assert_eq!(cache.acquire(&sampler(1), &mut client.pipe, &mut client.slots), Ok(first));
    assert_ne!(cache.acquire(&sampler(2), &mut client.pipe, &mut client.slots), Ok(first));
    assert_eq!(client.ops(), [Op::CreateSamplerState]);
}

#[test]
fn samplers_stay_until_their_place_is_needed_and_referenced_ones_always() {
    let (mut client, mut cache) = (Client::new(), SamplerCache::<3>::default());
    let Client { pipe, slots, .. } = &mut client;
    let made: Vec<_> = (0..3).map(|n| cache.acquire(&sampler(n), pipe, slots).unwrap()).collect();
    // Acquired twice, released once.
    cache.acquire(&sampler(0), pipe, slots).unwrap();
    for sampler in [made[0], made[2], made[1]] {
        cache.release(sampler, pipe, slots).unwrap();
    }
    assert_eq!(client.ops(), [Op::CreateSamplerState; 3]);
    let Client { pipe, slots, .. } = &mut client;
    // It is there still.
    assert_eq!(cache.acquire(&sampler(1), pipe, slots), Ok(made[1]));
    cache.release(made[1], pipe, slots).unwrap();
    // Number 2 was acquired longest ago of those that nobody refers to.
    cache.acquire(&sampler(3), pipe, slots).unwrap();
    let deleted = client.one(|record| match record {
        Record::DeleteSamplerState(row) => Some(row.payload.handle),
        _ => None,
    });
    assert_eq!(deleted, made[2]);
    assert_eq!(client.slots.live(Band::Sampler), 3);
}

#[test]
fn samplers_without_a_place_are_deleted_on_their_release() {
    let (mut client, mut cache) = (Client::new(), SamplerCache::<2>::default());
    let Client { pipe, slots, .. } = &mut client;
    for n in 0..2 {
        cache.acquire(&sampler(n), pipe, slots).unwrap();
    }
    let over = [2, 2].map(|n| cache.acquire(&sampler(n), pipe, slots).unwrap());
    assert_ne!(over[0], over[1]);
    client.ops();
    for sampler in over {
        cache.release(sampler, &mut client.pipe, &mut client.slots).unwrap();
        assert_eq!(client.ops(), [Op::DeleteSamplerState]);
    }
    assert_eq!(client.slots.live(Band::Sampler), 2);
    // A release too many finds nothing.
    cache.release(over[0], &mut client.pipe, &mut client.slots).unwrap();
    cache.release(Handle::NULL, &mut client.pipe, &mut client.slots).unwrap();
    assert_eq!(client.ops(), []);
}

#[test]
fn a_sampler_that_could_not_be_made_or_deleted_is_nobodys_loss() {
    let (mut client, mut cache) = (Client::new(), SamplerCache::<1>::default());
    let acquire = |client: &mut Client, cache: &mut SamplerCache<1>, n: u32, room: usize| {
        client.pipe.0.room = Some(room);
        cache.acquire(&sampler(n), &mut client.pipe, &mut client.slots)
    };
    assert_eq!(acquire(&mut client, &mut cache, 0, 0), Err(SyncError::Pipe(Full)));
    assert_eq!(client.slots.live(Band::Sampler), 0);
    let first = acquire(&mut client, &mut cache, 0, 1).unwrap();
    cache.release(first, &mut client.pipe, &mut client.slots).unwrap();
    assert_eq!(acquire(&mut client, &mut cache, 1, 0), Err(SyncError::Pipe(Full)), "the delete failed");
    assert_eq!(acquire(&mut client, &mut cache, 0, 0), Ok(first), "so it is there still");
    cache.release(first, &mut client.pipe, &mut client.slots).unwrap();
    assert_eq!(acquire(&mut client, &mut cache, 1, 1), Err(SyncError::Pipe(Full)), "the create failed");
    assert_eq!(client.slots.live(Band::Sampler), 0);
    assert!(acquire(&mut client, &mut cache, 1, 1).is_ok());
    assert_eq!(client.slots.live(Band::Sampler), 1);
}

// Programs.

fn spans(client: &mut Client) -> Vec<(u32, Vec<u8>)> {
    let sent = client.records(|record| match record {
        Record::SetGlobalConstants(row) => (row.payload.offset, row.payload.blob),
        other => panic!("{:?}", other.op()),
    });
    sent.into_iter().map(|(offset, blob)| (offset, client.blob(blob))).collect()
}

#[test]
fn constants_send_the_span_that_changed() {
    let (mut client, mut constants) = (Client::new(), Constants::<Heap>::default());
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(client.ops(), [], "there is no block");
    assert!(constants.relinked(16));
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(spans(&mut client), [(0, vec![0; 16])], "whole after a link");

    assert!(constants.set(4, &[0; 8]), "the same bytes");
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(client.ops(), []);

    assert!(constants.set(4, &[0, 1, 0, 2, 0]));
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(spans(&mut client), [(5, vec![1, 0, 2])], "without the ends that did not change");

    assert!(constants.set(12, &[9]));
    assert!(constants.set(2, &[8]));
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(spans(&mut client), [(2, vec![8, 0, 0, 1, 0, 2, 0, 0, 0, 0, 9])], "both, and what is between");

    assert!(!constants.set(15, &[1, 1]));
    assert!(!constants.set(usize::MAX, &[1]));
    assert_eq!(constants.image()[15], 0);
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(client.ops(), []);
}

#[test]
fn lost_updates_constants_that_could_not_be_sent_are_sent_later() {
    let (mut client, mut constants) = (Client::new(), Constants::<Heap>::default());
    assert!(constants.relinked(8));
    client.pipe.0.room = Some(0);
    assert_eq!(constants.emit(&mut client.pipe, handle(1)), Err(Full));
    client.pipe.0.room = None;
    constants.emit(&mut client.pipe, handle(1)).unwrap();
    assert_eq!(spans(&mut client), [(0, vec![0; 8])]);
}

#[test]
fn bindings_are_sent_when_they_differ_and_again_after_a_link() {
    let (mut client, mut bindings) = (Client::new(), ProgramBindings::<Heap>::default());
    let units = [ProgramSamplerUnit { location: 3, unit: 1 }];
    let storage = [ProgramStorageOverride { name_size: 5, binding: 2, ..ProgramStorageOverride::default() }];
    let mut emit =
        |blocks: &[i32], units: &[ProgramSamplerUnit], storage: &[ProgramStorageOverride], relink: bool| {
            if relink {
                bindings.relinked();
            }
            let names: &[u8] = if storage.is_empty() { b"" } else { b"block" };
            bindings.emit(&mut client.pipe, handle(1), blocks, units, storage, names).unwrap();
            client.ops().len()
        };
    assert_eq!(emit(&[], &[], &[], false), 0, "a link leaves none");
    assert_eq!(emit(&[1, 2], &units, &storage, false), 1);
    assert_eq!(emit(&[1, 2], &units, &storage, false), 0);
    assert_eq!(emit(&[1, 3], &units, &storage, false), 1);
    assert_eq!(emit(&[1, 3], &[], &storage, false), 1);
    assert_eq!(emit(&[1, 3], &[], &[], false), 1);
    assert_eq!(emit(&[1, 3], &[], &[], true), 1, "a link cleared them");
    assert_eq!(emit(&[], &[], &[], true), 0, "a link cleared them");
}

#[test]
fn other_names_are_other_bindings() {
    let (mut client, mut bindings) = (Client::new(), ProgramBindings::<Heap>::default());
    let storage = [ProgramStorageOverride { name_size: 5, binding: 2, ..ProgramStorageOverride::default() }];
    for (names, sent) in [(b"first", 1), (b"first", 0), (b"other", 1)] {
        bindings.emit(&mut client.pipe, handle(1), &[], &[], &storage, names).unwrap();
        assert_eq!(client.ops().len(), sent, "{names:?}");
    }
}

#[test]
fn bindings_that_could_not_be_sent_are_sent_later() {
    let (mut client, mut bindings) = (Client::new(), ProgramBindings::<Heap>::default());
    client.pipe.0.room = Some(0);
    assert_eq!(bindings.emit(&mut client.pipe, handle(1), &[1], &[], &[], b""), Err(Full));
    client.pipe.0.room = None;
    assert_eq!(bindings.emit(&mut client.pipe, handle(1), &[1], &[], &[], b""), Ok(()));
    assert_eq!(client.ops(), [Op::SetProgramBindings]);
}

#[test]
fn a_window_is_replaced_whole() {
    let mut client = Client::steady();
    let bound = |slot: u32| ImageView { resource: handle(slot), ..ImageView::default() };
    assert!(client.tracker.shader_images().set(2, &[bound(1), bound(2), bound(3)]));
    client.draw();
    *client.tracker.shader_images() = Window::default();
    assert!(client.tracker.shader_images().set(3, &[bound(2)]));
    client.sync(Verb::Draw).unwrap();
    let sent = client.one(|record| match record {
        Record::SetShaderImages(row) => Some((row.payload.start, row.images.to_vec())),
        _ => None,
    });
    assert_eq!((sent.0, sent.1.len(), sent.1[0].unit), (3, 1, 3));
    assert_eq!(client.tracker.sent().shader_images.get(2), ImageView::default());
}
