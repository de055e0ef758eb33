//! The meaning of the chunk table: every call of GL that sets render state moves the halves that it should.

use runahead_core::{
    chunks::{CHUNKS, Chunk, Half},
    state::initial_render_state,
};
use runahead_wire::{
    payload::{MemberInfo, Payload, RenderState},
    zerocopy::IntoBytes,
};

use Half::{Dynamic, Pipeline};

/// A call that sets render state.
struct Setter {
    call: &'static str,
    /// The members that it sets, each with the half that must move.
    sets: &'static [(&'static str, Half)],
    set: fn(&mut RenderState),
}

const fn setter(
    call: &'static str,
    sets: &'static [(&'static str, Half)],
    set: fn(&mut RenderState),
) -> Setter {
    Setter { call, sets, set }
}

/// The calls of GL (OpenGL 4.6, chapters 10, 11, 13, 14, 17, 18 and 21). Which half a member is of is that of
/// the reference (`spec/reference-facts.md`, section 5): what its pipeline version covers.
static SETTERS: &[Setter] = &[
    setter("glViewportIndexedf", &[("viewports", Dynamic)], |state| state.viewports[3].width = 640.0),
    setter("glDepthRangeIndexed", &[("depth_ranges", Dynamic)], |state| state.depth_ranges[15].near = 0.5),
    setter("glLineWidth", &[("line_width", Dynamic)], |state| state.line_width = 2.0),
    setter("glPointSize", &[("point_size", Dynamic)], |state| state.point_size = 2.0),
    setter("glPatchParameteri", &[("patch_vertices", Pipeline)], |state| state.patch_vertices = 4),
    setter("glPatchParameterfv OUTER", &[("patch_outer", Pipeline)], |state| state.patch_outer[3] = 2.0),
    setter("glPatchParameterfv INNER", &[("patch_inner", Pipeline)], |state| state.patch_inner[1] = 2.0),
    setter(
        "glPolygonOffsetClamp",
        &[
            ("polygon_offset_factor", Dynamic),
            ("polygon_offset_units", Dynamic),
            ("polygon_offset_clamp", Dynamic),
        ],
        |state| {
            state.polygon_offset_factor = 1.0;
            state.polygon_offset_units = 2.0;
            state.polygon_offset_clamp = 3.0;
        },
    ),
    setter("glClipControl", &[("clip_origin", Dynamic), ("clip_depth_mode", Dynamic)], |state| {
        state.clip_origin = 1;
        state.clip_depth_mode = 1;
    }),
    setter("glBlendFuncSeparatei", &[("blend", Pipeline)], |state| state.blend[7].src_rgb = 5),
    setter("glBlendEquationi", &[("blend", Pipeline)], |state| state.blend[0].op_alpha = 2),
    setter("glEnablei BLEND", &[("blend", Pipeline)], |state| state.blend[1].enabled = 1),
    setter("glBlendColor", &[("blend_color", Dynamic)], |state| state.blend_color[3] = 0.5),
    setter("glLogicOp", &[("logic_op", Pipeline)], |state| state.logic_op = 1),
    setter("glEnable DEPTH_TEST", &[("depth_test", Pipeline)], |state| state.depth_test = 1),
    setter("glDepthFunc", &[("depth_func", Pipeline)], |state| state.depth_func = 3),
    setter("glDepthMask", &[("depth_mask", Pipeline)], |state| state.depth_mask = 0),
    setter("glColorMaski", &[("color_masks", Pipeline)], |state| state.color_masks[7].alpha = 0),
    setter("glEnable FRAMEBUFFER_SRGB", &[("framebuffer_srgb", Pipeline)], |state| {
        state.framebuffer_srgb = 1
    }),
    setter("glEnable DEPTH_CLAMP", &[("depth_clamp", Pipeline)], |state| state.depth_clamp = 1),
    setter("glEnable TEXTURE_CUBE_MAP_SEAMLESS", &[("cube_map_seamless", Pipeline)], |state| {
        state.cube_map_seamless = 1;
    }),
    setter("glClearColor", &[("clear_color", Dynamic)], |state| state.clear_color[0] = 1.0),
    setter("glClearDepth", &[("clear_depth", Dynamic)], |state| state.clear_depth = 0.0),
    setter("glClearStencil", &[("clear_stencil", Dynamic)], |state| state.clear_stencil = 1),
    setter(
        "glSampleCoverage",
        &[("sample_coverage_value", Pipeline), ("sample_coverage_invert", Pipeline)],
        |state| {
            state.sample_coverage_value = 0.5;
            state.sample_coverage_invert = 1;
        },
    ),
    setter("glSampleMaski", &[("sample_mask_value", Pipeline)], |state| state.sample_mask_value = 1),
    setter("glMinSampleShading", &[("min_sample_shading", Pipeline)], |state| state.min_sample_shading = 0.5),
    setter(
        "glStencilFuncSeparate FRONT",
        &[
            ("stencil_front_func", Pipeline),
            ("stencil_front_ref", Dynamic),
            ("stencil_front_value_mask", Dynamic),
        ],
        |state| {
            state.stencil_front_func = 1;
            state.stencil_front_ref = 1;
            state.stencil_front_value_mask = 1;
        },
    ),
    setter("glStencilMaskSeparate FRONT", &[("stencil_front_write_mask", Dynamic)], |state| {
        state.stencil_front_write_mask = 1;
    }),
    setter(
        "glStencilOpSeparate FRONT",
        &[
            ("stencil_front_fail", Pipeline),
            ("stencil_front_depth_fail", Pipeline),
            ("stencil_front_pass", Pipeline),
        ],
        |state| {
            state.stencil_front_fail = 2;
            state.stencil_front_depth_fail = 2;
            state.stencil_front_pass = 2;
        },
    ),
    setter(
        "glStencilFuncSeparate BACK",
        &[
            ("stencil_back_func", Pipeline),
            ("stencil_back_ref", Dynamic),
            ("stencil_back_value_mask", Dynamic),
        ],
        |state| {
            state.stencil_back_func = 1;
            state.stencil_back_ref = 1;
            state.stencil_back_value_mask = 1;
        },
    ),
    setter("glStencilMaskSeparate BACK", &[("stencil_back_write_mask", Dynamic)], |state| {
        state.stencil_back_write_mask = 1;
    }),
    setter(
        "glStencilOpSeparate BACK",
        &[
            ("stencil_back_fail", Pipeline),
            ("stencil_back_depth_fail", Pipeline),
            ("stencil_back_pass", Pipeline),
        ],
        |state| {
            state.stencil_back_fail = 2;
            state.stencil_back_depth_fail = 2;
            state.stencil_back_pass = 2;
        },
    ),
    setter("glEnable CULL_FACE", &[("cull_face", Pipeline)], |state| state.cull_face = 1),
    setter("glCullFace", &[("cull_mode", Pipeline)], |state| state.cull_mode ^= 1),
    setter("glFrontFace", &[("front_face", Pipeline)], |state| state.front_face ^= 1),
    setter("glProvokingVertex", &[("provoking_vertex", Pipeline)], |state| state.provoking_vertex ^= 1),
    setter("glHint LINE_SMOOTH", &[("hint_line_smooth", Dynamic)], |state| state.hint_line_smooth = 1),
    setter("glHint POLYGON_SMOOTH", &[("hint_polygon_smooth", Dynamic)], |state| {
        state.hint_polygon_smooth = 1
    }),
    setter("glHint TEXTURE_COMPRESSION", &[("hint_texture_compression", Dynamic)], |state| {
        state.hint_texture_compression = 1;
    }),
    setter("glHint FRAGMENT_SHADER_DERIVATIVE", &[("hint_fragment_shader_derivative", Dynamic)], |state| {
        state.hint_fragment_shader_derivative = 1;
    }),
    setter("glPointParameterf FADE_THRESHOLD", &[("point_fade_threshold_size", Dynamic)], |state| {
        state.point_fade_threshold_size = 2.0;
    }),
    setter("glPointParameteri SPRITE_COORD_ORIGIN", &[("point_sprite_origin", Dynamic)], |state| {
        state.point_sprite_origin ^= 1;
    }),
    setter("glClampColor", &[("clamp_read_color", Dynamic)], |state| state.clamp_read_color ^= 1),
    setter("glPolygonMode", &[("polygon_mode_front", Pipeline), ("polygon_mode_back", Pipeline)], |state| {
        state.polygon_mode_front ^= 1;
        state.polygon_mode_back ^= 1;
    }),
    setter("glPrimitiveRestartIndex", &[("primitive_restart_index", Dynamic)], |state| {
        state.primitive_restart_index = 7;
    }),
    setter("glDisable DITHER", &[("dither", Pipeline)], |state| state.dither = 0),
    setter("glEnable COLOR_LOGIC_OP", &[("color_logic_op", Pipeline)], |state| state.color_logic_op = 1),
    setter("glEnable POLYGON_OFFSET_FILL", &[("polygon_offset_fill", Pipeline)], |state| {
        state.polygon_offset_fill = 1;
    }),
    setter("glEnable POLYGON_OFFSET_LINE", &[("polygon_offset_line", Pipeline)], |state| {
        state.polygon_offset_line = 1;
    }),
    setter("glEnable POLYGON_OFFSET_POINT", &[("polygon_offset_point", Pipeline)], |state| {
        state.polygon_offset_point = 1;
    }),
    setter("glEnable SAMPLE_ALPHA_TO_COVERAGE", &[("sample_alpha_to_coverage", Pipeline)], |state| {
        state.sample_alpha_to_coverage = 1;
    }),
    setter("glEnable SAMPLE_ALPHA_TO_ONE", &[("sample_alpha_to_one", Pipeline)], |state| {
        state.sample_alpha_to_one = 1;
    }),
    setter("glEnable SAMPLE_COVERAGE", &[("sample_coverage", Pipeline)], |state| state.sample_coverage = 1),
    setter("glEnable SAMPLE_MASK", &[("sample_mask", Pipeline)], |state| state.sample_mask = 1),
    setter("glEnable SAMPLE_SHADING", &[("sample_shading", Pipeline)], |state| state.sample_shading = 1),
    setter("glEnable STENCIL_TEST", &[("stencil_test", Pipeline)], |state| state.stencil_test = 1),
    setter("glDisable MULTISAMPLE", &[("multisample", Pipeline)], |state| state.multisample = 0),
    setter("glEnable LINE_SMOOTH", &[("line_smooth", Pipeline)], |state| state.line_smooth = 1),
    setter("glEnable POLYGON_SMOOTH", &[("polygon_smooth", Pipeline)], |state| state.polygon_smooth = 1),
    setter("glEnable PROGRAM_POINT_SIZE", &[("program_point_size", Pipeline)], |state| {
        state.program_point_size = 1;
    }),
    setter("glEnable PRIMITIVE_RESTART", &[("primitive_restart", Pipeline)], |state| {
        state.primitive_restart = 1
    }),
    setter(
        "glEnable PRIMITIVE_RESTART_FIXED_INDEX",
        &[("primitive_restart_fixed_index", Pipeline)],
        |state| {
            state.primitive_restart_fixed_index = 1;
        },
    ),
    setter("glEnable RASTERIZER_DISCARD", &[("rasterizer_discard", Pipeline)], |state| {
        state.rasterizer_discard = 1;
    }),
    setter("glEnable BLEND_ADVANCED_COHERENT", &[("blend_advanced_coherent", Pipeline)], |state| {
        state.blend_advanced_coherent = 1;
    }),
    setter("glEnablei SCISSOR_TEST", &[("scissor_enable_mask", Pipeline)], |state| {
        state.scissor_enable_mask = 2
    }),
    setter("glScissorIndexed", &[("scissor_boxes", Dynamic), ("scissor_written_mask", Dynamic)], |state| {
        state.scissor_boxes[15].height = 480;
        state.scissor_written_mask = 1 << 15;
    }),
    setter("glEnable CLIP_DISTANCE", &[("clip_distance_mask", Dynamic)], |state| {
        state.clip_distance_mask = 1
    }),
];

/// Members that hold content, by name.
fn members() -> impl Iterator<Item = &'static MemberInfo> {
    RenderState::INFO.members.iter().filter(|member| !member.name.starts_with('_'))
}

fn member(name: &str) -> &'static MemberInfo {
    members().find(|member| member.name == name).unwrap_or_else(|| panic!("no member {name}"))
}

/// Whether a half moved, by the table.
fn moved(table: &[Chunk], half: Half, before: &RenderState, after: &RenderState) -> bool {
    half.changed(table, before, after) != 0
}

/// What a table gets wrong: setters and members, each by name.
fn wrong(table: &[Chunk]) -> Vec<String> {
    let mut wrong = Vec::new();
    let before = initial_render_state();
    for Setter { call, sets, set } in SETTERS {
        let mut after = before;
        set(&mut after);
        let differs = |member: &&MemberInfo| {
            let bytes = member.offset..member.offset + member.size;
            before.as_bytes()[bytes.clone()] != after.as_bytes()[bytes]
        };
        let set: Vec<_> = members().filter(differs).map(|member| member.name).collect();
        let said: Vec<_> = sets.iter().map(|(name, _)| *name).collect();
        assert_eq!(set, said, "{call} sets what the list says, in the order of the struct");
        for half in [Pipeline, Dynamic] {
            let must = sets.iter().any(|(_, of)| *of == half);
            if moved(table, half, &before, &after) != must {
                wrong.push(format!(
                    "{call}: {said:?} must {}move the {half:?} half",
                    if must { "" } else { "not " }
                ));
            }
        }
        // The call sets one value of many, so each byte of its members is looked at as well.
        for (name, half) in *sets {
            let member = member(name);
            let bad = |at: &usize| {
                let mut after = before;
                after.as_mut_bytes()[*at] ^= 0xFF;
                let halves = [Pipeline, Dynamic].map(|half| moved(table, half, &before, &after));
                halves != [*half == Pipeline, *half == Dynamic]
            };
            if let Some(at) = (member.offset..member.offset + member.size).find(bad) {
                wrong.push(format!(
                    "{call}: byte {} of {name} is not of the {half:?} half",
                    at - member.offset
                ));
            }
        }
    }
    wrong
}

#[test]
fn every_member_has_a_setter() {
    for member in members() {
        let is_set = SETTERS.iter().any(|setter| setter.sets.iter().any(|(name, _)| *name == member.name));
        assert!(is_set, "no setter of the list sets {}", member.name);
    }
}

#[test]
fn no_member_is_said_to_be_of_both_halves() {
    for (name, half) in SETTERS.iter().flat_map(|setter| setter.sets) {
        let other =
            SETTERS.iter().flat_map(|setter| setter.sets).find(|(same, of)| same == name && of != half);
        assert!(other.is_none(), "{name}");
    }
}

#[test]
fn every_setter_moves_the_halves_that_it_must() {
    assert_eq!(wrong(&CHUNKS), Vec::<String>::new());
}

/// The table with one member moved into the other half, by cutting its chunk around it.
fn with_member_moved(name: &str) -> Vec<Chunk> {
    let (start, end) = (member(name).offset, member(name).offset + member(name).size);
    let cut = |chunk: &Chunk| {
        if chunk.start <= start && end <= chunk.end {
            let other = if chunk.half == Pipeline { Dynamic } else { Pipeline };
            vec![
                Chunk { end: start, ..*chunk },
                Chunk { half: other, start, end },
                Chunk { start: end, ..*chunk },
            ]
        } else {
            vec![*chunk]
        }
    };
    CHUNKS.iter().flat_map(cut).filter(|chunk| chunk.start != chunk.end).collect()
}

#[test]
fn colour_masks_moved_to_the_dynamic_half_are_named() {
    let wrong = wrong(&with_member_moved("color_masks"));
    assert!(!wrong.is_empty());
    assert!(
        wrong.iter().all(|wrong| wrong.contains("glColorMaski") && wrong.contains("color_masks")),
        "{wrong:?}"
    );
}

#[test]
fn any_member_moved_to_the_other_half_is_named() {
    for member in members() {
        let wrong = wrong(&with_member_moved(member.name));
        assert!(!wrong.is_empty(), "{} was moved and nothing is wrong", member.name);
        assert!(wrong.iter().all(|wrong| wrong.contains(member.name)), "{}: {wrong:?}", member.name);
    }
}
