//! The wire as it is, written down by hand from the reference: numbers, names, sizes, flags and wait classes
//! of every row, and where members lie. Nothing here is derived from the tables that it checks.

use runahead_wire::catalogue::{Class, RowInfo, Standing, Wait};
use runahead_wire::payload::*;
use runahead_wire::pipe::{self, rows};
use runahead_wire::{BlobRef, Handle, Header, Row, event, limits};
use std::mem::offset_of;

/// Number, name, payload bytes, class, flags (B blob, V tails, R reply, O optional), wait class.
type Line = (u16, &'static str, usize, Class, &'static str, Wait);

#[rustfmt::skip]
const PIPE: &[Line] = {
    use Class::{Cso, Object, Query, Screen, State, Verb};
    use Wait::{None, Present, Reply};
    &[
        (1, "GetCaps", 8, Screen, "R", Reply),
        (2, "ResourceCreate", 88, Screen, "", None),
        (3, "ResourceRespecify", 88, Screen, "", None),
        (4, "ResourceDestroy", 16, Screen, "", None),
        (5, "MapPersistent", 16, Screen, "RO", Reply),
        (6, "UnmapPersistent", 16, Screen, "O", None),
        (7, "FenceCreate", 16, Screen, "", None),
        (8, "FenceStatus", 16, Screen, "R", Reply),
        (9, "FenceWait", 24, Screen, "R", Reply),
        (10, "FenceDestroy", 16, Screen, "", None),
        (11, "QueryCreate", 16, Query, "", None),
        (12, "QueryBegin", 16, Query, "", None),
        (13, "QueryEnd", 16, Query, "", None),
        (14, "QueryAvailable", 16, Query, "R", Reply),
        (15, "QueryResult", 16, Query, "R", Reply),
        (16, "QueryDestroy", 16, Query, "", None),
        (17, "CreateRenderState", 48, Cso, "B", None),
        (18, "BindRenderState", 16, Cso, "", None),
        (19, "DeleteRenderState", 16, Cso, "", None),
        (20, "CreateVertexElements", 40, Cso, "B", None),
        (21, "BindVertexElements", 16, Cso, "", None),
        (22, "DeleteVertexElements", 16, Cso, "", None),
        (23, "CreateSamplerState", 32, Cso, "B", None),
        (24, "DeleteSamplerState", 16, Cso, "", None),
        (25, "CreateSamplerView", 36, Cso, "", None),
        (26, "DeleteSamplerView", 16, Cso, "", None),
        (27, "CreateShaderState", 200, Cso, "B", None),
        (28, "BindShaderState", 16, Cso, "", None),
        (29, "DeleteShaderState", 16, Cso, "", None),
        (30, "SetDynamicState", 32, State, "B", None),
        (31, "SetFramebufferState", 296, State, "", None),
        (32, "SetVertexBuffers", 16, State, "V", None),
        (33, "SetIndexBuffer", 24, State, "", None),
        (34, "SetIndirectBuffers", 16, State, "", None),
        (35, "SetSamplerViews", 8, State, "V", None),
        (36, "BindSamplerStates", 8, State, "V", None),
        (37, "SetShaderImages", 8, State, "V", None),
        (38, "SetShaderBuffers", 24, State, "V", None),
        (39, "SetStreamOutputTargets", 8, State, "V", None),
        (40, "SetGlobalConstants", 40, State, "B", None),
        (41, "SetVertexAttribDefaults", 8, State, "V", None),
        (42, "SetPixelPackState", 28, State, "", None),
        (43, "SetPatchState", 40, State, "", None),
        (44, "SetDrawProgram", 16, State, "", None),
        (45, "SetDispatchProgram", 16, State, "", None),
        (46, "SetResidualValueState", 32, State, "B", None),
        (47, "SetTextureParams", 40, Object, "", None),
        (48, "ResourceSubData", 88, Object, "BV", None),
        (49, "BufferSubDataResident", 88, Object, "BO", None),
        (50, "ResourceSubDataComplete", 24, Object, "", None),
        (51, "ResourceFlushRange", 32, Object, "", None),
        (52, "ResourceReadback", 24, Object, "R", Reply),
        (53, "ResourceCopyRegion", 72, Object, "", None),
        (54, "GenerateMipmap", 16, Object, "", None),
        (55, "GetTextureImage", 64, Object, "R", Reply),
        (56, "Blit", 56, Verb, "", None),
        (57, "Clear", 48, Verb, "", None),
        (58, "ReadPixels", 64, Verb, "R", Reply),
        (59, "DrawVbo", 56, Verb, "V", None),
        (60, "LaunchGrid", 48, Verb, "", None),
        (61, "MemoryBarrier", 8, Verb, "", None),
        (62, "BeginStreamOutput", 120, Verb, "", None),
        (63, "EndStreamOutput", 24, Verb, "", None),
        (64, "PauseStreamOutput", 8, Verb, "", None),
        (65, "ResumeStreamOutput", 8, Verb, "", None),
        (66, "Flush", 8, Verb, "", None),
        (67, "Present", 16, Verb, "V", Present),
        (68, "SetSwapInterval", 8, Verb, "O", None),
        (69, "QueryTimestamp", 8, Query, "R", Reply),
        (70, "QueryCounter", 16, Query, "", None),
        (71, "FenceWaitServer", 24, Screen, "", None),
        (72, "BindShaderImage", 40, Verb, "", None),
        (73, "PatchParameter", 8, Verb, "", None),
        (74, "BindStreamOutput", 16, Verb, "", None),
        (75, "SetStorageBlockBinding", 40, Verb, "B", None),
        (76, "CopyFramebufferToTexture", 48, Verb, "", None),
        (77, "ApplierReset", 8, Screen, "", None),
        (78, "ObjectDeath", 16, Object, "", None),
        (79, "SetContextValues", 96, State, "", None),
        (80, "SetProgramBindings", 48, State, "BV", None),
        (81, "DeleteStreamOutput", 16, Verb, "", None),
        (82, "ReadPixelsToBuffer", 104, Verb, "", None),
        (83, "GetTextureImageToBuffer", 104, Object, "", None),
        (84, "BindContext", 24, Screen, "", None),
        (85, "SharedImage", 40, Screen, "RV", Reply),
        (86, "CopyBuffer", 40, Object, "", None),
        (87, "SetConditionalRender", 16, State, "", None),
        (88, "ClearTexture", 56, Object, "", None),
        (89, "ClearBuffer", 48, Object, "", None),
        (90, "Invalidate", 64, Object, "", None),
        (91, "DebugMark", 24, Verb, "V", None),
    ]
};

#[rustfmt::skip]
const EVENTS: &[Line] = &[
    (1, "BufferWriteback", 40, Class::Event, "V", Wait::None),
    (2, "GpuWritten", 32, Class::Event, "V", Wait::None),
    (3, "SurfaceChanged", 48, Class::Event, "", Wait::None),
    (4, "GlError", 24, Class::Event, "V", Wait::None),
    (5, "FenceSignaled", 24, Class::Event, "", Wait::None),
    (6, "Refused", 40, Class::Event, "", Wait::None),
    (7, "CapsChanged", 24, Class::Event, "", Wait::None),
];

/// Rows that are decoded and applied, and what a client sends instead.
const SUPERSEDED: &[(u16, &str)] =
    &[(39, "BeginStreamOutput"), (72, "SetShaderImages"), (73, "SetPatchState"), (75, "SetProgramBindings")];

const RETIRED: &[u16] = &[46, 50];

fn check(rows: &[RowInfo], lines: &[Line]) {
    assert_eq!(rows.len(), lines.len());
    for (row, (op, name, size, class, letters, wait)) in rows.iter().zip(lines) {
        assert_eq!((row.op, row.name), (*op, *name));
        let Some(payload) = row.payload else {
            assert!(matches!(row.standing, Standing::Retired { .. }) && RETIRED.contains(op), "{name}");
            continue;
        };
        assert_eq!(payload.size, *size, "{name}: payload bytes");
        assert_eq!((row.class, row.wait), (*class, *wait), "{name}");
        let number: u8 = letters
            .chars()
            .map(|letter| match letter {
                'B' => 2,
                'V' => 4,
                'R' => 16,
                'O' => 32,
                other => panic!("{other}"),
            })
            .sum();
        assert_eq!(row.flags.raw(), number, "{name}: flags");
    }
}

#[test]
fn rows_are_the_pinned_ones() {
    check(pipe::ROWS, PIPE);
    check(event::ROWS, EVENTS);
}

#[test]
fn superseded_and_retired_rows() {
    let mut superseded = Vec::new();
    let mut retired = Vec::new();
    for row in pipe::ROWS {
        match row.standing {
            Standing::Live => {}
            Standing::Superseded { by } => superseded.push((row.op, by)),
            Standing::Retired { .. } => retired.push(row.op),
        }
    }
    assert_eq!(superseded, SUPERSEDED);
    assert_eq!(retired, RETIRED);
    for (_, by) in SUPERSEDED {
        assert!(pipe::Op::ALL.iter().any(|op| op.name() == *by), "{by}");
    }
}

#[test]
fn tails_and_blobs_are_the_pinned_ones() {
    #[rustfmt::skip]
    let tails: &[(u16, &str, usize, u32)] = &[
        (32, "buffers", 32, 32), (35, "views", 24, 192), (36, "samplers", 8, 192), (37, "images", 24, 192),
        (38, "buffers", 24, 84), (39, "targets", 24, 4), (39, "offsets", 4, 4), (41, "values", 56, 32),
        (48, "regions", 40, 4096), (59, "ranges", 12, 65_536), (59, "indirect", 40, 1), (67, "damage", 16, 64),
        (80, "block_bindings", 4, 64), (80, "sampler_units", 8, 256), (80, "storage_overrides", 16, 64),
        (85, "damage", 16, 64), (91, "text", 1, 1024),
    ];
    let found: Vec<_> = pipe::ROWS
        .iter()
        .flat_map(|row| row.tails.iter().map(move |tail| (row.op, tail.name, tail.size, tail.max)))
        .collect();
    assert_eq!(found, tails);

    #[rustfmt::skip]
    let blobs: &[(u16, &str, usize, bool)] = &[
        (17, "blob", 1, false), (20, "blob", 1, true), (23, "parameters", 1, false), (27, "spirv", 6, true),
        (27, "reflection", 1, false), (30, "blob", 1, false), (40, "blob", 1, false), (48, "blob", 1, false),
        (49, "blob", 1, false), (75, "name", 1, false), (80, "names", 1, true),
    ];
    let found: Vec<_> = pipe::ROWS
        .iter()
        .flat_map(|row| row.blobs.iter().map(move |blob| (row.op, blob.name, blob.count, blob.optional)))
        .collect();
    assert_eq!(found, blobs);
}

/// `size of Struct { member @ offset, ... }`
macro_rules! layout {
    ($($ty:ident $size:literal { $($member:ident @ $offset:literal),* $(,)? })+) => { $(
        assert_eq!(size_of::<$ty>(), $size, stringify!($ty));
        $( assert_eq!(offset_of!($ty, $member), $offset, concat!(stringify!($ty), ".", stringify!($member))); )*
    )+ };
}

#[test]
fn members_lie_where_the_reference_has_them() {
    assert_eq!((size_of::<Handle>(), align_of::<Handle>()), (8, 4));
    layout! {
        BlobRef 24 { offset @ 0, size @ 8, segment @ 16 }
        TexelBox 24 { x @ 0, z @ 8, width @ 12, depth @ 20 }
        HandleOnly 16 { handle @ 0, kind @ 8 }
        ResourceDesc 88 {
            resource @ 0, target @ 8, storage_kind @ 9, bind_mask @ 10, internal_format @ 12, width @ 16, height @ 20,
            depth @ 24, array_layers @ 28, levels @ 30, samples @ 32, fixed_sample_locations @ 34, immutable @ 35,
            usage @ 36, storage_flags @ 40, has_defined_content @ 44, image_bindable_hint @ 45,
            has_respecified_level @ 46, gl_name @ 48, respecified_upload_target @ 52, respecified_level @ 54,
            view_of @ 56, buffer_for_tex_buffer @ 64, buf_offset @ 72, buf_size @ 80,
        }
        SubData 88 {
            resource @ 0, target @ 8, upload_target @ 9, level @ 10, source_is_verbatim_level_shadow @ 12,
            has_live_host_writes @ 13, union_box @ 16, region_count @ 40, blob @ 48, level_width @ 72, level_depth @ 80,
        }
        SubRegion 40 { x @ 0, width @ 12, src_offset @ 24, src_row_stride @ 32, src_slice_stride @ 36 }
        RenderStateDesc 48 { cso @ 0, base_cso @ 8, chunk_mask @ 16, blob @ 24 }
        BindRenderState 16 { cso @ 0, version @ 8, pipeline_version @ 12 }
        DynamicState 32 { chunk_mask @ 0, version @ 4, blob @ 8 }
        VertexElements 40 { cso @ 0, attribute_count @ 8, binding_point_count @ 12, blob @ 16 }
        VertexAttrib 24 { offset @ 0, stride @ 8, component_type @ 12, size @ 16, binding_index @ 22 }
        VertexBindingPoint 16 { offset @ 0, stride @ 8, divisor @ 12 }
        SamplerParameters 100 {
            wrap_s @ 0, mip_filter @ 20, min_lod @ 24, compare_func @ 40, border_color_float @ 48,
            border_color_int @ 64, border_color_uint @ 80, border_color_form @ 96,
        }
        SamplerView 36 {
            cso @ 0, texture @ 8, internal_format @ 16, target @ 20, min_level @ 24, num_levels @ 26, min_layer @ 28,
            num_layers @ 30, samples @ 32, fixed_sample_locations @ 34,
        }
        TextureParams 40 {
            resource @ 0, builtin_sampler @ 8, base_level @ 16, max_level @ 18, swizzle @ 20, depth_stencil_mode @ 24,
            force_resync @ 25, sampler_resync @ 26, min_lod @ 28, max_lod @ 32, lod_bias @ 36,
        }
        ProgramDesc 200 {
            cso @ 0, stage_mask @ 8, global_ubo_size @ 12, reserved_num_samples_offset @ 16, spirv_status @ 20,
            native_float64 @ 21, point_size_demoted @ 22, enable_spirv_validation @ 23, link_status @ 24, spirv @ 32,
            reflection @ 176,
        }
        Surface 24 {
            resource @ 0, internal_format @ 8, kind @ 12, layered @ 13, level @ 14, layer @ 16, upload_target @ 20,
            texture_target @ 22,
        }
        FramebufferState 296 {
            fbo @ 0, color @ 8, depth @ 200, stencil @ 224, read_surface @ 248, draw_buffers @ 272, width @ 280,
            height @ 282, layers @ 284, samples @ 286, fixed_sample_locations @ 288, is_default @ 289, complete @ 290,
            target @ 291,
        }
        VertexBuffer 32 { resource @ 0, offset @ 8, stride @ 16, divisor @ 20, binding_index @ 24 }
        BoundView 24 { view @ 0, texture @ 8, unit @ 16 }
        ImageView 24 {
            resource @ 0, unit @ 8, internal_format @ 12, layer @ 16, level @ 20, layered @ 22, access @ 23,
        }
        BufferRange 24 { resource @ 0, offset @ 8, size @ 16 }
        ShaderBuffers 24 { class @ 0, start @ 4, count @ 8, writable_mask @ 12 }
        ProgramBindings 48 {
            cso @ 0, names @ 8, block_binding_count @ 32, sampler_unit_count @ 36, storage_override_count @ 40,
        }
        GlobalConstants 40 { shader_cso @ 0, offset @ 8, blob @ 16 }
        AttribValue 56 { location @ 0, value_class @ 4, float_view @ 8, int_view @ 24, uint_view @ 40 }
        CopyRegion 72 {
            src @ 0, dst @ 8, src_box @ 16, dst_x @ 40, src_target @ 52, dst_target @ 54, src_level @ 56,
            dst_level @ 58, src_gl_name @ 60, dst_gl_name @ 64,
        }
        Blit 56 { read_fbo @ 0, draw_fbo @ 8, src_x0 @ 16, dst_x0 @ 32, mask @ 48, filter @ 52 }
        Clear 48 {
            fbo @ 0, kind @ 8, draw_buffer_index @ 12, buffer_mask @ 16, value_class @ 20, color_value @ 24,
            depth_value @ 40, stencil_value @ 44,
        }
        ReadbackInfo 64 {
            resource @ 0, region @ 8, format @ 32, pixel_type @ 36, target @ 40, level @ 42, dst_offset @ 48,
            dst_size @ 56,
        }
        DrawInfo 56 {
            mode @ 0, index_size @ 4, flags @ 5, instance_count @ 8, start_instance @ 12, restart_index @ 16,
            draw_id_offset @ 20, index_resource @ 24, min_index @ 32, max_index @ 36, xfb_cpu_captured_vertices @ 40,
            num_draws @ 48,
        }
        DrawRange 12 { start @ 0, count @ 4, index_bias @ 8 }
        DrawIndirect 40 {
            buffer @ 0, parameter_buffer @ 8, offset @ 16, parameter_offset @ 24, stride @ 32, draw_count @ 36,
        }
        GridInfo 48 { grid_x @ 0, block_x @ 12, indirect_buffer @ 24, indirect_offset @ 32, is_indirect @ 40 }
        StreamOutputBegin 120 { primitive_mode @ 0, capture_program @ 8, lifetime_id @ 16, targets @ 24 }
        ImageBind 40 {
            resource @ 0, unit @ 8, gl_name @ 12, level @ 16, layer @ 20, access @ 24, format @ 28, layered @ 32,
        }
        CopyFromFramebuffer 48 {
            dst @ 0, target @ 8, level @ 12, internal_format @ 16, x @ 20, y @ 24, width @ 28, height @ 32,
            x_offset @ 36, y_offset @ 40, sub_image @ 44,
        }
        ContextValues 96 {
            active_texture_unit @ 0, max_touched_texture_unit @ 4, touched_buffer_binding_point_count @ 8,
            xfb_active @ 68, xfb_paused @ 69, xfb_generation @ 72, bound_xfb_lifetime_id @ 80,
            xfb_captured_vertices @ 88,
        }
    }
}

/// The first member of each of the fifteen chunks of the render state; core cuts it there.
#[test]
fn render_state_chunks_begin_where_the_reference_cuts() {
    layout! {
        RenderState 1168 {
            viewports @ 0, patch_vertices @ 264, polygon_offset_factor @ 292, blend @ 312, clear_color @ 584,
            sample_coverage_value @ 752, stencil_front_ref @ 772, stencil_front_fail @ 784, stencil_back_ref @ 800,
            stencil_back_fail @ 812, hint_line_smooth @ 840, polygon_mode_front @ 868, primitive_restart_index @ 876,
            dither @ 880, scissor_boxes @ 904,
        }
        BlendState 28 {}
    }
    // The halves of the reference: dynamic 772 bytes, pipeline 396.
    let cuts = [0, 264, 292, 312, 584, 752, 772, 784, 800, 812, 840, 868, 876, 880, 904, 1168];
    let lengths: Vec<usize> = cuts.windows(2).map(|cut| cut[1] - cut[0]).collect();
    let dynamic: usize = lengths.iter().step_by(2).sum();
    assert_eq!((dynamic, 1168 - dynamic), (772, 396));
    // No member crosses a cut.
    for member in RenderState::INFO.members {
        let inside =
            cuts.windows(2).any(|cut| cut[0] <= member.offset && member.offset + member.size <= cut[1]);
        assert!(inside, "{}", member.name);
    }
}

/// Members lie one behind the other and fill their struct: nothing is implicit, nothing overlaps.
#[test]
fn members_fill_their_struct() {
    let payloads = pipe::ROWS.iter().chain(event::ROWS).filter_map(|row| row.payload);
    for info in
        payloads.chain([RenderState::INFO, SamplerParameters::INFO, VertexAttrib::INFO, CapsLimits::INFO])
    {
        let mut at = 0;
        for member in info.members {
            assert_eq!(member.offset, at, "{}.{}", info.name, member.name);
            at += member.size;
        }
        assert_eq!(at, info.size, "{}", info.name);
    }
}

#[test]
fn records_have_the_sizes_of_the_reference() {
    let len = |row: &dyn Fn() -> Option<usize>| row().expect("consistent");
    let draw = |draws: usize, flags: u8| {
        let payload = DrawInfo { num_draws: draws as u32, flags, ..Default::default() };
        let ranges = vec![DrawRange::default(); draws];
        let indirect = vec![DrawIndirect::default(); usize::from(flags == 32)];
        len(&|| rows::DrawVbo { payload: &payload, ranges: &ranges, indirect: &indirect }.encoded_len())
    };
    assert_eq!([draw(0, 0), draw(1, 0), draw(2, 0), draw(3, 0), draw(0, 32)], [64, 80, 88, 104, 104]);
    let present = |damage: &[DamageRect]| {
        let payload = Present { frame_serial: 1, damage_count: damage.len() as u32, ..Default::default() };
        rows::Present { payload: &payload, damage }.encoded_len()
    };
    assert_eq!([present(&[]), present(&[DamageRect::default()])], [Some(24), Some(40)]);
    let bind = BindRenderState::default();
    assert_eq!(rows::BindRenderState { payload: &bind }.encoded_len(), Some(24));
    let status = HandleOnly::default();
    let status = |reply| rows::FenceStatus { payload: &status, reply }.encoded_len();
    assert_eq!([status(None), status(Some(ReplySpace::default()))], [Some(24), Some(40)]);
    let bindings = ProgramBindings {
        block_binding_count: 1,
        sampler_unit_count: 1,
        storage_override_count: 1,
        ..Default::default()
    };
    let bindings = rows::SetProgramBindings {
        payload: &bindings,
        block_bindings: &[3],
        sampler_units: &[ProgramSamplerUnit::default()],
        storage_overrides: &[ProgramStorageOverride::default()],
    };
    assert_eq!(bindings.encoded_len(), Some((8_usize + 48 + 4 + 8 + 16).next_multiple_of(8)));
}

/// A record byte by byte, written by hand.
#[test]
#[cfg(target_endian = "little")]
fn a_record_is_these_bytes() {
    let payload = DrawInfo { mode: 4, num_draws: 1, instance_count: 2, ..Default::default() };
    let ranges = [DrawRange { start: 3, count: 36, index_bias: -1 }];
    let mut out = [0xEE; 80];
    assert!(rows::DrawVbo { payload: &payload, ranges: &ranges, indirect: &[] }.encode(&mut out));
    let mut expected = [0; 80];
    expected[..8].copy_from_slice(&[59, 0, 0, 0, 80, 0, 0, 0]);
    expected[8] = 4;
    expected[16] = 2;
    expected[56] = 1;
    expected[64] = 3;
    expected[68] = 36;
    expected[72..76].fill(0xFF);
    assert_eq!(out, expected);
    assert_eq!(Header::from_bytes([59, 0, 1, 0, 80, 0, 0, 0]), Header { op: 59, flags: 1, size: 80 });
}

#[test]
fn limits_are_those_of_the_reference() {
    assert_eq!(
        (limits::VERTEX_ATTRIBS, limits::TEXTURE_UNITS, limits::IMAGE_UNITS, limits::BUFFER_BINDINGS),
        (32, 192, 192, 84),
    );
    assert_eq!((limits::COLOR_ATTACHMENTS, limits::VIEWPORTS, limits::STREAM_OUTPUT_TARGETS), (8, 16, 4));
    assert_eq!(limits::BUFFER_BINDING_WORDS, 3);
    assert_eq!((limits::PIPELINE_CHUNKS, limits::DYNAMIC_CHUNKS), (7, 8));
}
