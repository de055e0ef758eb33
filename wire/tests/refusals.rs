//! What a bad record is called. Each line changes one thing in a record that decodes.

mod common;

use common::Aligned;
use runahead_wire::payload::*;
use runahead_wire::pipe::{self, Record, rows};
use runahead_wire::values::*;
use runahead_wire::{BlobRef, DispatchError, Handle, NoStage, Refusal, Row, event};

/// The record of a row; encoding takes any contents, so bad ones can be made.
fn record<'a, R: Row<'a>>(row: &R) -> Vec<u8> {
    let mut out = vec![0; row.encoded_len().expect("consistent")];
    assert!(row.encode(&mut out));
    out
}

fn refusal(bytes: &[u8]) -> String {
    match Record::decode(Aligned::new(bytes).as_ref()) {
        Err(refusal) => refusal.to_string(),
        Ok(record) => format!("{record:?}"),
    }
}

fn corrupt(name: &str) -> String {
    format!("ProtocolCorruption(\"{name}\")")
}

/// Overwrites a `u32` of the payload, which begins at 8.
fn patched<'a, R: Row<'a>>(row: &R, offset: usize, number: u32) -> Vec<u8> {
    let mut bytes = record(row);
    bytes[8 + offset..][..4].copy_from_slice(&number.to_ne_bytes());
    bytes
}

/// `row with { changes } => "Row.Member"`: one valid payload of the row, changed.
macro_rules! refused {
    ($($row:ident($payload:ident { $($good:tt)* }) with $($member:ident = $bad:expr),+ => $name:literal;)+) => { $(
        let good = $payload { $($good)* ..Default::default() };
        assert_eq!(Record::decode(Aligned::new(&record(&rows::$row { payload: &good })).as_ref()).err(), None, $name);
        #[allow(clippy::needless_update, reason = "some payloads are given whole")]
        let bad = $payload { $($member: $bad,)+ ..good };
        assert_eq!(refusal(&record(&rows::$row { payload: &bad })), corrupt($name));
    )+ };
}

#[test]
fn members_with_a_value_type() {
    refused! {
        ResourceCreate(ResourceDesc {}) with target = 13 => "ResourceCreate.Target";
        ResourceCreate(ResourceDesc {}) with storage_kind = 2 => "ResourceCreate.StorageKind";
        ResourceCreate(ResourceDesc {}) with bind_mask = 1 << 12 => "ResourceCreate.BindMask";
        ResourceRespecify(ResourceDesc {}) with internal_format = 11 => "ResourceRespecify.InternalFormat";
        ResourceRespecify(ResourceDesc {}) with immutable = 2 => "ResourceRespecify.Immutable";
        ObjectDeath(HandleOnly {}) with kind = 14 => "ObjectDeath.Kind";
        QueryBegin(QueryDesc {}) with kind = 0x8914 => "QueryBegin.Kind";
        SetTextureParams(TextureParams { builtin_sampler: Handle::new(1, 1), }) with swizzle = [0, 1, 2, 6]
            => "SetTextureParams.Swizzle";
        SetFramebufferState(FramebufferState {}) with depth = Surface { kind: 1, ..Default::default() }
            => "SetFramebufferState.Depth";
        SetFramebufferState(FramebufferState {}) with color = [Surface { layered: 2, ..Default::default() }; 8]
            => "SetFramebufferState.Color";
        BindShaderImage(ImageBind {}) with access = 0x88B8 => "BindShaderImage.Access";
        GenerateMipmap(MipPlan {}) with target = 0x0DE1 => "GenerateMipmap.Target";
        LaunchGrid(GridInfo {}) with is_indirect = 255 => "LaunchGrid.IsIndirect";
        MemoryBarrier(MemoryBarrier {}) with bits = 1 << 15 => "MemoryBarrier.Bits";
        Clear(Clear {}) with kind = 5 => "Clear.Kind";
        SetConditionalRender(ConditionalRender {}) with mode = 8 => "SetConditionalRender.Mode";
    }
}

#[test]
fn rules_between_members() {
    refused! {
        SetTextureParams(TextureParams { builtin_sampler: Handle::new(1, 1), }) with builtin_sampler = Handle::NULL
            => "SetTextureParams.BuiltinSampler";
        SetFramebufferState(FramebufferState {}) with draw_buffers = [0, 1, 2, 3, 4, 5, 6, 8]
            => "SetFramebufferState.DrawBuffers";
        SetFramebufferState(FramebufferState {}) with draw_buffers = [-2; 8] => "SetFramebufferState.DrawBuffers";
        SetIndexBuffer(IndexBuffer {}) with index_size = 3 => "SetIndexBuffer.IndexSize";
        SetPixelPackState(PixelPackState { alignment: 4, }) with alignment = 3 => "SetPixelPackState.Alignment";
        Clear(Clear { kind: ClearKind::Color.raw(), }) with draw_buffer_index = 8 => "Clear.DrawBufferIndex";
        BeginStreamOutput(StreamOutputBegin {}) with primitive_mode = Topology::TriangleFan.raw()
            => "BeginStreamOutput.PrimitiveMode";
        ReadPixelsToBuffer(ReadbackToBuffer {}) with swap_group = 3 => "ReadPixelsToBuffer.SwapGroup";
        ReadPixelsToBuffer(ReadbackToBuffer {}) with src = ReadbackInfo { format: 0x1908, ..Default::default() }
            => "ReadPixelsToBuffer.Src";
        SetContextValues(ContextValues {}) with max_touched_texture_unit = 192
            => "SetContextValues.MaxTouchedTextureUnit";
        ClearTexture(ClearTexture {}) with value_size = 17 => "ClearTexture.ValueSize";
        ClearBuffer(ClearBuffer { value_size: 4, }) with value_size = 0 => "ClearBuffer.ValueSize";
        BindShaderImage(ImageBind {}) with unit = 192 => "BindShaderImage.Unit";
    }
    let present = |frame_serial| Present { frame_serial, ..Default::default() };
    assert_eq!(
        refusal(&record(&rows::Present { payload: &present(0), damage: &[] })),
        corrupt("Present.FrameSerial")
    );
    assert!(refusal(&record(&rows::Present { payload: &present(1), damage: &[] })).starts_with("Present("));
}

#[test]
fn draws() {
    let draw = |flags: DrawFlags, index_size, num_draws: usize| {
        let payload =
            DrawInfo { flags: flags.raw8(), index_size, num_draws: num_draws as u32, ..Default::default() };
        let indirect = vec![DrawIndirect::default(); payload.indirect_count() as usize];
        refusal(&record(&rows::DrawVbo {
            payload: &payload,
            ranges: &vec![DrawRange::default(); num_draws],
            indirect: &indirect,
        }))
    };
    assert!(draw(DrawFlags::EMPTY, 4, 1).starts_with("DrawVbo("));
    assert!(draw(DrawFlags::IS_INDIRECT, 0, 0).starts_with("DrawVbo("));
    assert_eq!(draw(DrawFlags::EMPTY, 3, 1), corrupt("DrawVbo.IndexSize"));
    assert_eq!(draw(DrawFlags::IS_INDIRECT, 0, 1), corrupt("DrawVbo.NumDraws"));

    let payload = DrawInfo { num_draws: 1, ..Default::default() };
    let one = rows::DrawVbo { payload: &payload, ranges: &[DrawRange::default()], indirect: &[] };
    assert_eq!(refusal(&patched(&one, 0, 12)), corrupt("DrawVbo.Mode"));
    for burned in [1, 4, 64, 128] {
        assert_eq!(refusal(&patched(&one, 4, burned << 8)), corrupt("DrawVbo.Flags"), "bit {burned}");
    }
    assert_eq!(refusal(&patched(&one, 48, 0)), corrupt("DrawVbo.Size"));
    assert_eq!(refusal(&patched(&one, 48, 2)), corrupt("DrawVbo.NumDraws"));
    assert_eq!(refusal(&patched(&one, 48, 65_537)), corrupt("DrawVbo.NumDraws"));
    assert_eq!(refusal(&patched(&one, 48, u32::MAX)), corrupt("DrawVbo.NumDraws"));
}

#[test]
fn windows() {
    let views = SamplerViews { count: 1, ..Default::default() };
    let row = rows::SetSamplerViews { payload: &views, views: &[BoundView::default()] };
    assert_eq!(refusal(&patched(&row, 4, 2)), corrupt("SetSamplerViews.Count"));
    assert_eq!(refusal(&patched(&row, 4, 193)), corrupt("SetSamplerViews.Count"));
    assert_eq!(refusal(&patched(&row, 4, 0)), corrupt("SetSamplerViews.Size"));
    assert_eq!(refusal(&patched(&row, 0, 1)), corrupt("SetSamplerViews.Start"));
    assert_eq!(refusal(&patched(&row, 8 + 16, 192)), corrupt("BoundView.Unit"));

    let samplers = SamplerStates { count: 1, ..Default::default() };
    let row = rows::BindSamplerStates { payload: &samplers, samplers: &[Handle::NULL] };
    assert_eq!(refusal(&patched(&row, 0, 1)), corrupt("BindSamplerStates.Start"));

    let buffers = ShaderBuffers { start: 83, count: 1, ..Default::default() };
    let row = rows::SetShaderBuffers { payload: &buffers, buffers: &[BufferRange::default()] };
    assert!(refusal(&record(&row)).starts_with("SetShaderBuffers("));
    assert_eq!(refusal(&patched(&row, 0, 3)), corrupt("SetShaderBuffers.Class"));
    assert_eq!(refusal(&patched(&row, 4, 84)), corrupt("SetShaderBuffers.Count"));
    assert_eq!(refusal(&patched(&row, 4, u32::MAX)), corrupt("SetShaderBuffers.Count"));

    let images = ShaderImages { count: 1, ..Default::default() };
    let view =
        |change: ImageView| refusal(&record(&rows::SetShaderImages { payload: &images, images: &[change] }));
    assert_eq!(view(ImageView { access: 3, ..Default::default() }), corrupt("ImageView.Access"));
    assert_eq!(view(ImageView { unit: 192, ..Default::default() }), corrupt("ImageView.Unit"));
    let row = rows::SetShaderImages { payload: &images, images: &[ImageView::default()] };
    assert_eq!(refusal(&patched(&row, 0, 192)), corrupt("SetShaderImages.Count"));

    let buffers = VertexBuffers { count: 1, ..Default::default() };
    let row = rows::SetVertexBuffers { payload: &buffers, buffers: &[VertexBuffer::default()] };
    assert_eq!(refusal(&patched(&row, 0, 32)), corrupt("SetVertexBuffers.Count"));
    assert_eq!(refusal(&patched(&row, 16 + 24, 32)), corrupt("VertexBuffer.BindingIndex"));

    let defaults = VertexAttribDefaults { mask: 0b100, count: 1 };
    let row = rows::SetVertexAttribDefaults { payload: &defaults, values: &[AttribValue::default()] };
    assert_eq!(refusal(&patched(&row, 0, 0b110)), corrupt("SetVertexAttribDefaults.Count"));
    assert_eq!(refusal(&patched(&row, 8, 32)), corrupt("AttribValue.Location"));
}

#[test]
fn program_bindings() {
    let bindings = ProgramBindings { block_binding_count: 1, sampler_unit_count: 1, ..Default::default() };
    let row = rows::SetProgramBindings {
        payload: &bindings,
        block_bindings: &[1],
        sampler_units: &[ProgramSamplerUnit::default()],
        storage_overrides: &[],
    };
    assert!(refusal(&record(&row)).starts_with("SetProgramBindings("));
    assert_eq!(refusal(&patched(&row, 32, 65)), corrupt("SetProgramBindings.BlockBindingCount"));
    assert_eq!(refusal(&patched(&row, 36, 257)), corrupt("SetProgramBindings.SamplerUnitCount"));
    assert_eq!(refusal(&patched(&row, 40, 1)), corrupt("SetProgramBindings.StorageOverrideCount"));
}

#[test]
fn blobs() {
    let not_staged = |name: &str| format!("BlobNotStaged(\"{name}\")");
    let blob = |parameters| {
        let desc = SamplerDesc { parameters, ..Default::default() };
        refusal(&record(&rows::CreateSamplerState { payload: &desc }))
    };
    let good = BlobRef::staged(4096, 100);
    assert!(blob(good).starts_with("CreateSamplerState("));
    for bad in [
        BlobRef::NONE,
        BlobRef::staged(4096, 0),
        BlobRef { segment: 0, ..good },
        BlobRef { segment: 3, ..good },
        BlobRef::staged(u64::MAX, 100),
    ] {
        assert_eq!(blob(bad), not_staged("CreateSamplerState.Parameters"), "{bad:?}");
    }

    let program = |spirv, reflection| {
        let desc = ProgramDesc { spirv, reflection, ..Default::default() };
        refusal(&record(&rows::CreateShaderState { payload: &desc }))
    };
    assert!(program([BlobRef::NONE; 6], good).starts_with("CreateShaderState("));
    assert_eq!(
        program([BlobRef { size: 1, ..BlobRef::NONE }; 6], good),
        not_staged("CreateShaderState.Spirv")
    );
    assert_eq!(program([good; 6], BlobRef::NONE), not_staged("CreateShaderState.Reflection"));

    // Well formed, and not in the stage: the dispatcher says so before it calls anything.
    let desc = SamplerDesc { parameters: good, ..Default::default() };
    let bytes = Aligned::new(&record(&rows::CreateSamplerState { payload: &desc }));
    let mut pipe = pipe::Encoder(common::Recording::default());
    assert_eq!(
        pipe::dispatch(bytes.as_ref(), &NoStage, &mut pipe),
        Err(DispatchError::Refused(Refusal::BlobNotStaged {
            owner: "CreateSamplerState",
            field: "parameters"
        })),
    );
    assert!(pipe.0.records.is_empty());
}

#[test]
fn chunk_masks() {
    for (mask, fits) in [(0, false), (1, true), (0x7F, true), (0x80, false)] {
        let desc = RenderStateDesc { chunk_mask: mask, blob: BlobRef::staged(0, 1), ..Default::default() };
        let refused = refusal(&record(&rows::CreateRenderState { payload: &desc }));
        assert_eq!(refused == corrupt("CreateRenderState.ChunkMask"), !fits, "{mask:#x}");
    }
    for (mask, fits) in [(0, false), (0xFF, true), (0x100, false)] {
        let state = DynamicState { chunk_mask: mask, blob: BlobRef::staged(0, 1), ..Default::default() };
        let refused = refusal(&record(&rows::SetDynamicState { payload: &state }));
        assert_eq!(refused == corrupt("SetDynamicState.ChunkMask"), !fits, "{mask:#x}");
    }
}

#[test]
fn frames_and_numbers() {
    let flush = record(&rows::Flush { payload: &Flush::default() });
    let changed = |at: usize, byte: u8| {
        let mut bytes = flush.clone();
        bytes[at] = byte;
        refusal(&bytes)
    };
    let op = |number: u16| {
        let mut bytes = flush.clone();
        bytes[..2].copy_from_slice(&number.to_ne_bytes());
        refusal(&bytes)
    };
    assert_eq!(op(0), "UnknownOp(0)");
    assert_eq!(op(92), "UnknownOp(92)");
    assert_eq!(op(u16::MAX), "UnknownOp(65535)");
    assert_eq!(op(46), "RetiredOp(\"SetResidualValueState\")");
    assert_eq!(op(50), "RetiredOp(\"ResourceSubDataComplete\")");
    // A row of another size reads the same frame.
    assert_eq!(op(56), corrupt("Blit.Size"));
    assert_eq!(refusal(&flush[..8]), corrupt("Record.Size"));
    assert_eq!(refusal(&[]), corrupt("Record.Size"));
    if cfg!(target_endian = "little") {
        assert_eq!(changed(4, 24), corrupt("Record.Size"));
        assert_eq!(changed(2, 2), corrupt("Record.Flags"));
        assert_eq!(changed(3, 0x80), corrupt("Record.Flags"));
        // The flag is known, and 16 bytes have no room for what it announces.
        assert_eq!(changed(2, 1), corrupt("Record.Size"));
    }
}

#[test]
fn reply_space_where_no_reply_is_owned() {
    let mut bytes =
        record(&rows::FenceWait { payload: &FenceWait::default(), reply: Some(ReplySpace::default()) });
    assert!(refusal(&bytes).starts_with("FenceWait("));
    bytes[..2].copy_from_slice(&71_u16.to_ne_bytes());
    assert_eq!(refusal(&bytes), corrupt("FenceWaitServer.Reply"));
}

#[test]
fn events() {
    let refused = |bytes: Vec<u8>| {
        event::Record::decode(Aligned::new(&bytes).as_ref()).expect_err("refused").to_string()
    };
    let error = GlError { kind: ErrorKind::OutOfMemory.raw(), ..Default::default() };
    assert_eq!(
        refused(record(&event::rows::GlError { payload: &error, text: &[] })),
        corrupt("GlError.TextSize")
    );
    let error = GlError { kind: 0x0505, text_size: 1, ..Default::default() };
    assert_eq!(
        refused(record(&event::rows::GlError { payload: &error, text: &[0] })),
        corrupt("GlError.Kind")
    );
    let slice = BufferWriteback::default();
    assert_eq!(
        refused(record(&event::rows::BufferWriteback { payload: &slice, bytes: &[] })),
        corrupt("BufferWriteback.Size"),
    );
}

/// A tail that disagrees with its count, or is over the limit, is the caller's mistake and never encoded.
#[test]
fn callers_mistakes_are_not_encoded() {
    let none = DrawInfo::default();
    assert_eq!(
        rows::DrawVbo { payload: &none, ranges: &[DrawRange::default()], indirect: &[] }.encoded_len(),
        None
    );
    assert_eq!(
        rows::DrawVbo { payload: &none, ranges: &[], indirect: &[DrawIndirect::default()] }.encoded_len(),
        None
    );
    let mark = DebugMark { text_size: 1025, ..Default::default() };
    let row = rows::DebugMark { payload: &mark, text: &[b'a'; 1025] };
    assert_eq!(row.encoded_len(), None);
    assert!(!row.encode(&mut [0; 1064]));
    assert_eq!(row.check().map_err(|refusal| refusal.to_string()), Err(corrupt("DebugMark.TextSize")));
}
