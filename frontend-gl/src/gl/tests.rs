//! Contexts over a session in this process that draws nothing: which errors there are, and that an applier takes what
//! is recorded. An applier makes a fault of anything that its records contradict, and a fault loses the context.

use std::{
    cell::RefCell,
    ffi::CStr,
    ptr,
    sync::{Arc, Mutex},
};

use runahead_core::{
    AnySession, Applier, Fault, Local, Quota, RecordError, Session, Shared, Turn,
    link::{Link, Look, Patience, Rest},
    slots::SlotSpace,
    trace::{Call, Listener, Method, Trace},
};
use runahead_rings::{Answer, Pending, ReplyClient, Watermark, split_replies};
use runahead_wire::{
    caps::{CapsHead, CapsLimits, CapsTexts, CapsView, FormatCaps},
    format::Format,
    payload::{BindContext, DamageRect},
    pipe::{Either, Pipe},
    values::FormatFeatures,
    zerocopy::FromZeros,
};

use super::{
    Attributes, Context, Current, DrawSurface, Inbox, Mail, ShareGroup, abi::*, enums, names, proc_address,
    program::Heap,
};

/// Methods of the backend that were called, in order.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<Method>>>);

impl Listener for Log {
    fn call(&mut self, call: &Call<'_>) {
        self.0.lock().unwrap().push(call.method);
    }
}

/// The link of a session that has none.
#[derive(Debug)]
enum Nowhere {}

impl Link for Nowhere {
    fn published(&mut self, _: Rest) {
        match *self {}
    }

    fn wait<T>(&mut self, _: Patience, _: impl FnMut() -> Result<Look<T>, Fault>) -> Result<T, Fault> {
        match *self {}
    }
}

type Client = AnySession<'static, Trace<Log>, Heap, Nowhere, Inbox>;

/// A session that one thread after another uses.
#[derive(Debug)]
struct Here(Mutex<(Client, SlotSpace<Heap>, BindContext)>);

impl Shared for Here {
    type Session = Client;
    type Storage = Heap;

    fn with<R>(
        &self,
        context: &BindContext,
        turn: impl FnOnce(&mut Turn<'_, Client, Heap>) -> R,
    ) -> Result<R, RecordError> {
        let (pipe, slots, current) = &mut *self.0.lock().unwrap();
        if *current != *context {
            pipe.bind_context(context)?;
            *current = *context;
        }
        Ok(turn(&mut Turn { pipe, slots }))
    }

    fn leave(&self) -> Result<(), RecordError> {
        Ok(())
    }

    fn wait_for(&self, mark: Watermark, value: u64, patience: Patience) -> Result<(), RecordError> {
        self.0.lock().unwrap().0.wait_for(mark, value, patience)
    }

    fn wait_answer(&self, pending: &Pending, patience: Patience) -> Result<Answer, RecordError> {
        self.0.lock().unwrap().0.wait_answer(pending, patience)
    }

    fn present(&self, _: &BindContext, _: &[DamageRect]) -> Result<(), RecordError> {
        unreachable!("nothing presents here")
    }
}

fn caps<R>(with: impl FnOnce(&CapsView<'_>) -> R) -> R {
    let mut limits = CapsLimits::new_zeroed();
    limits.max_viewport_dims = [4096; 2];
    limits.max_texture_size = 2048;
    limits.max_cube_map_texture_size = 1024;
    limits.max_renderbuffer_size = 2048;
    limits.max_vertex_attribs = 16;
    limits.max_combined_texture_image_units = 16;
    limits.max_texture_image_units = [8; 6];
    limits.max_uniform_components = [1024; 6];
    limits.max_varying_components = 32;
    limits.max_texture_max_anisotropy = 1.0;
    let colors = [Format::Rgba8, Format::Rgb8, Format::Rgb565, Format::Rgba4, Format::Rgb5A1];
    let depths = [Format::DepthComponent16, Format::StencilIndex8, Format::Depth24Stencil8];
    let uses = FormatFeatures::SAMPLED.with(FormatFeatures::RENDERABLE).raw();
    let formats: Vec<_> = colors
        .iter()
        .chain(&depths)
        .map(|format| FormatCaps { format: format.raw(), features: uses, ..FormatCaps::default() })
        .collect();
    let texts = CapsTexts { renderer: "nothing", ..CapsTexts::default() };
    with(&CapsView::new(CapsHead::default(), &limits, &formats, &texts).unwrap())
}

thread_local! {
    static CONTEXT: RefCell<Option<Context<Here>>> = const { RefCell::new(None) };
}

struct Mine;

impl Current for Mine {
    type Session = Here;

    fn with<R>(call: impl FnOnce(&mut Context<Here>) -> R) -> Option<R> {
        let mut context = CONTEXT.take()?;
        let answer = call(&mut context);
        CONTEXT.set(Some(context));
        Some(answer)
    }
}

const SURFACE: DrawSurface = DrawSurface {
    token: 7,
    width: 32,
    height: 16,
    red: 8,
    green: 8,
    blue: 8,
    alpha: 8,
    depth: 24,
    stencil: 8,
    samples: 0,
    format: Format::Rgba8,
};

/// Makes a context current on this thread, over a session of its own.
fn begin() -> Log {
    CONTEXT.take();
    let (log, mail) = (Log::default(), Arc::new(Mail::default()));
    let words = vec![0; 1 << 15].leak();
    let used = vec![0; ReplyClient::bookkeeping(size_of_val(words))].leak();
    let (replies, answers) = split_replies(words, used).unwrap();
    let local = Local::new(answers, replies, Inbox(Arc::clone(&mail)), || 0);
    let mut applier = Applier::new(Trace::new(log.clone()), local, Quota::default(), 0);
    applier.create_context(1, None).unwrap();
    applier.create_surface(SURFACE.token).unwrap();
    let inside = (Either::First(applier), SlotSpace::default(), BindContext::default());
    let session = Arc::new(Here(Mutex::new(inside)));
    let attributes = Attributes { version: (2, 0), reset_notification: true, ..Attributes::default() };
    let mut context = caps(|caps| Context::new(session, 1, &ShareGroup::default(), &attributes, caps, mail));
    context.attach(Some(&SURFACE), Some(&SURFACE));
    CONTEXT.set(Some(context));
    log
}

fn error() -> u32 {
    glGetError::<Mine>()
}

fn integer(name: u32) -> i32 {
    let mut value = [i32::MIN; 16];
    glGetIntegerv::<Mine>(name, value.as_mut_ptr());
    value[0]
}

/// A program of the current context.
fn program() -> u32 {
    program_of(c"attribute vec4 pos; void main() { gl_Position = pos; }")
}

/// A program with this vertex shader.
fn program_of(vertex: &CStr) -> u32 {
    let sources = [
        (enums::VERTEX_SHADER, vertex),
        (
            enums::FRAGMENT_SHADER,
            c"precision mediump float; uniform vec2 u; uniform sampler2D sampler; uniform mat3 arr[3];
              void main() { gl_FragColor = texture2D(sampler, u) + arr[0][0].xyzz + arr[1][0].xyzz + arr[2][0].xyzz; }",
        ),
    ];
    let program = glCreateProgram::<Mine>();
    for (kind, source) in sources {
        let shader = glCreateShader::<Mine>(kind);
        glShaderSource::<Mine>(shader, 1, &source.as_ptr(), ptr::null());
        glCompileShader::<Mine>(shader);
        glAttachShader::<Mine>(program, shader);
        glDeleteShader::<Mine>(shader);
    }
    glLinkProgram::<Mine>(program);
    let mut linked = 0;
    glGetProgramiv::<Mine>(program, enums::LINK_STATUS, &mut linked);
    assert_eq!((linked, error()), (1, enums::NO_ERROR));
    program
}

type Case = (&'static str, fn(), u32);

/// What is done wrong, and the error that the specification wants, with its section.
const CASES: &[Case] = {
    use enums::{
        ARRAY_BUFFER, BLEND, BYTE, FLOAT, FRAMEBUFFER, INVALID_ENUM, INVALID_FRAMEBUFFER_OPERATION,
        INVALID_OPERATION, INVALID_VALUE, NO_ERROR, RENDERBUFFER, RGB, RGBA, TEXTURE_2D, TRIANGLES,
        UNSIGNED_BYTE,
    };
    &[
        ("2.9: a target of a buffer", || glBindBuffer::<Mine>(BLEND, 1), INVALID_ENUM),
        (
            "2.9: no buffer is bound",
            || glBufferData::<Mine>(ARRAY_BUFFER, 1, ptr::null(), enums::STATIC_DRAW),
            INVALID_OPERATION,
        ),
        (
            "2.9: a negative size",
            || {
                glBindBuffer::<Mine>(ARRAY_BUFFER, 1);
                glBufferData::<Mine>(ARRAY_BUFFER, -1, ptr::null(), enums::STATIC_DRAW);
            },
            INVALID_VALUE,
        ),
        (
            "2.9: a usage",
            || {
                glBindBuffer::<Mine>(ARRAY_BUFFER, 1);
                glBufferData::<Mine>(ARRAY_BUFFER, 1, ptr::null(), FLOAT);
            },
            INVALID_ENUM,
        ),
        (
            "2.9: beyond the end",
            || {
                glBindBuffer::<Mine>(ARRAY_BUFFER, 1);
                glBufferData::<Mine>(ARRAY_BUFFER, 4, ptr::null(), enums::STATIC_DRAW);
                glBufferSubData::<Mine>(ARRAY_BUFFER, 2, 3, [0_u8; 3].as_ptr().cast());
            },
            INVALID_VALUE,
        ),
        ("2.9: a negative count of names", || glGenBuffers::<Mine>(-1, ptr::null_mut()), INVALID_VALUE),
        ("2.9: deleting names that nobody has", || glDeleteBuffers::<Mine>(2, [0, 99].as_ptr()), NO_ERROR),
        ("2.7: an attribute that is not there", || glVertexAttrib1f::<Mine>(16, 0.0), INVALID_VALUE),
        (
            "2.8: a size of an array",
            || glVertexAttribPointer::<Mine>(0, 5, FLOAT, 0, 0, ptr::null()),
            INVALID_VALUE,
        ),
        (
            "2.8: a type of an array",
            || glVertexAttribPointer::<Mine>(0, 4, enums::INT, 0, 0, ptr::null()),
            INVALID_ENUM,
        ),
        (
            "2.8: a negative step",
            || glVertexAttribPointer::<Mine>(0, 4, FLOAT, 0, -1, ptr::null()),
            INVALID_VALUE,
        ),
        ("2.8: a mode", || glDrawArrays::<Mine>(7, 0, 3), INVALID_ENUM),
        ("2.8: a negative count", || glDrawArrays::<Mine>(TRIANGLES, 0, -1), INVALID_VALUE),
        ("2.8: a type of indices", || glDrawElements::<Mine>(TRIANGLES, 3, BYTE, ptr::null()), INVALID_ENUM),
        ("2.8: without a program nothing is drawn", || glDrawArrays::<Mine>(TRIANGLES, 0, 3), NO_ERROR),
        ("2.10.1: a type of a shader", || assert_eq!(glCreateShader::<Mine>(TRIANGLES), 0), INVALID_ENUM),
        ("2.10.1: no shader", || glCompileShader::<Mine>(99), INVALID_VALUE),
        (
            "2.10.1: a program is no shader",
            || glCompileShader::<Mine>(glCreateProgram::<Mine>()),
            INVALID_OPERATION,
        ),
        (
            "2.10.3: attached twice",
            || {
                let (program, shader) =
                    (glCreateProgram::<Mine>(), glCreateShader::<Mine>(enums::VERTEX_SHADER));
                glAttachShader::<Mine>(program, shader);
                glAttachShader::<Mine>(program, shader);
            },
            INVALID_OPERATION,
        ),
        (
            "2.10.3: not attached",
            || {
                let (program, shader) =
                    (glCreateProgram::<Mine>(), glCreateShader::<Mine>(enums::VERTEX_SHADER));
                glDetachShader::<Mine>(program, shader);
            },
            INVALID_OPERATION,
        ),
        (
            "2.10.3: a program that is not linked",
            || glUseProgram::<Mine>(glCreateProgram::<Mine>()),
            INVALID_OPERATION,
        ),
        (
            "2.10.3: a built-in name",
            || glBindAttribLocation::<Mine>(glCreateProgram::<Mine>(), 0, c"gl_x".as_ptr()),
            INVALID_OPERATION,
        ),
        (
            "2.10.3: a location that is not there",
            || glBindAttribLocation::<Mine>(glCreateProgram::<Mine>(), 16, c"x".as_ptr()),
            INVALID_VALUE,
        ),
        ("2.10.4: no program is in use", || glUniform1f::<Mine>(0, 0.0), INVALID_OPERATION),
        (
            "2.10.4: location -1 is ignored",
            || {
                glUseProgram::<Mine>(program());
                glUniform1f::<Mine>(-1, 0.0);
            },
            NO_ERROR,
        ),
        (
            "2.10.4: another size",
            || {
                let program = program();
                glUseProgram::<Mine>(program);
                glUniform3f::<Mine>(glGetUniformLocation::<Mine>(program, c"u".as_ptr()), 0.0, 0.0, 0.0);
            },
            INVALID_OPERATION,
        ),
        (
            "2.10.4: integers for floats",
            || {
                let program = program();
                glUseProgram::<Mine>(program);
                glUniform2i::<Mine>(glGetUniformLocation::<Mine>(program, c"u".as_ptr()), 0, 0);
            },
            INVALID_OPERATION,
        ),
        (
            "2.10.4: several values for one",
            || {
                let program = program();
                glUseProgram::<Mine>(program);
                glUniform2fv::<Mine>(
                    glGetUniformLocation::<Mine>(program, c"u".as_ptr()),
                    2,
                    [0.0; 4].as_ptr(),
                );
            },
            INVALID_OPERATION,
        ),
        (
            "2.10.4: a unit that is not there",
            || {
                let program = program();
                glUseProgram::<Mine>(program);
                glUniform1i::<Mine>(glGetUniformLocation::<Mine>(program, c"sampler".as_ptr()), 16);
            },
            INVALID_VALUE,
        ),
        (
            "2.10.4: transposed",
            || {
                let program = program();
                glUseProgram::<Mine>(program);
                glUniformMatrix3fv::<Mine>(
                    glGetUniformLocation::<Mine>(program, c"arr".as_ptr()),
                    1,
                    1,
                    [0.0; 9].as_ptr(),
                );
            },
            INVALID_VALUE,
        ),
        ("2.12.1: a negative size", || glViewport::<Mine>(0, 0, -1, 1), INVALID_VALUE),
        ("3.4: a width of nothing", || glLineWidth::<Mine>(0.0), INVALID_VALUE),
        ("3.6.1: an alignment", || glPixelStorei::<Mine>(enums::PACK_ALIGNMENT, 3), INVALID_VALUE),
        ("3.7: a unit that is not there", || glActiveTexture::<Mine>(enums::TEXTURE0 + 16), INVALID_ENUM),
        (
            "3.7.1: a format",
            || glTexImage2D::<Mine>(TEXTURE_2D, 0, RGBA as i32, 1, 1, 0, BLEND, UNSIGNED_BYTE, ptr::null()),
            INVALID_ENUM,
        ),
        (
            "3.7.1: an internal format",
            || glTexImage2D::<Mine>(TEXTURE_2D, 0, BLEND as i32, 1, 1, 0, RGBA, UNSIGNED_BYTE, ptr::null()),
            INVALID_VALUE,
        ),
        (
            "3.7.1: another internal format",
            || glTexImage2D::<Mine>(TEXTURE_2D, 0, RGB as i32, 1, 1, 0, RGBA, UNSIGNED_BYTE, ptr::null()),
            INVALID_OPERATION,
        ),
        (
            "3.7.1: a type that does not go with it",
            || {
                glTexImage2D::<Mine>(
                    TEXTURE_2D,
                    0,
                    RGBA as i32,
                    1,
                    1,
                    0,
                    RGBA,
                    enums::UNSIGNED_SHORT_5_6_5,
                    ptr::null(),
                );
            },
            INVALID_OPERATION,
        ),
        (
            "3.7.1: a border",
            || glTexImage2D::<Mine>(TEXTURE_2D, 0, RGBA as i32, 1, 1, 1, RGBA, UNSIGNED_BYTE, ptr::null()),
            INVALID_VALUE,
        ),
        (
            "3.7.1: too large",
            || glTexImage2D::<Mine>(TEXTURE_2D, 0, RGBA as i32, 2049, 1, 0, RGBA, UNSIGNED_BYTE, ptr::null()),
            INVALID_VALUE,
        ),
        (
            "3.7.1: too high a level",
            || glTexImage2D::<Mine>(TEXTURE_2D, 12, RGBA as i32, 1, 1, 0, RGBA, UNSIGNED_BYTE, ptr::null()),
            INVALID_VALUE,
        ),
        (
            "3.7.1: a face that is no square",
            || {
                glTexImage2D::<Mine>(
                    enums::TEXTURE_CUBE_MAP_POSITIVE_X,
                    0,
                    RGBA as i32,
                    2,
                    1,
                    0,
                    RGBA,
                    UNSIGNED_BYTE,
                    ptr::null(),
                );
            },
            INVALID_VALUE,
        ),
        (
            "3.7.2: no image",
            || glTexSubImage2D::<Mine>(TEXTURE_2D, 0, 0, 0, 1, 1, RGBA, UNSIGNED_BYTE, ptr::null()),
            INVALID_OPERATION,
        ),
        (
            "3.7.2: beyond the image",
            || {
                glTexImage2D::<Mine>(TEXTURE_2D, 0, RGBA as i32, 2, 2, 0, RGBA, UNSIGNED_BYTE, ptr::null());
                glTexSubImage2D::<Mine>(TEXTURE_2D, 0, 1, 0, 2, 1, RGBA, UNSIGNED_BYTE, ptr::null());
            },
            INVALID_VALUE,
        ),
        (
            "3.7.3: a compressed format that is not there",
            || {
                glCompressedTexImage2D::<Mine>(TEXTURE_2D, 0, RGBA, 4, 4, 0, 8, ptr::null());
            },
            INVALID_ENUM,
        ),
        ("3.7.4: a parameter", || glTexParameteri::<Mine>(TEXTURE_2D, BLEND, 0), INVALID_ENUM),
        (
            "3.7.4: a filter",
            || {
                glTexParameteri::<Mine>(
                    TEXTURE_2D,
                    enums::TEXTURE_MAG_FILTER,
                    enums::LINEAR_MIPMAP_LINEAR as i32,
                )
            },
            INVALID_ENUM,
        ),
        ("3.7.11: mipmaps of nothing", || glGenerateMipmap::<Mine>(TEXTURE_2D), INVALID_OPERATION),
        (
            "3.7.13: a texture of another target",
            || {
                glBindTexture::<Mine>(TEXTURE_2D, 5);
                glBindTexture::<Mine>(enums::TEXTURE_CUBE_MAP, 5);
            },
            INVALID_OPERATION,
        ),
        ("4.1.5: a comparison", || glDepthFunc::<Mine>(BLEND), INVALID_ENUM),
        (
            "4.1.6: a factor for sources",
            || glBlendFunc::<Mine>(enums::ONE, enums::SRC_ALPHA_SATURATE),
            INVALID_ENUM,
        ),
        ("4.1.6: an equation", || glBlendEquation::<Mine>(BLEND), INVALID_ENUM),
        ("4.2.3: a buffer that there is not", || glClear::<Mine>(1), INVALID_VALUE),
        (
            "4.3.1: a negative size",
            || glReadPixels::<Mine>(0, 0, -1, 1, RGBA, UNSIGNED_BYTE, ptr::null_mut()),
            INVALID_VALUE,
        ),
        (
            "4.3.1: another pair",
            || glReadPixels::<Mine>(0, 0, 1, 1, RGB, UNSIGNED_BYTE, ptr::null_mut()),
            INVALID_OPERATION,
        ),
        (
            "4.4.1: no framebuffer object is bound",
            || glFramebufferRenderbuffer::<Mine>(FRAMEBUFFER, enums::COLOR_ATTACHMENT0, RENDERBUFFER, 0),
            INVALID_OPERATION,
        ),
        (
            "4.4.3: a format of a renderbuffer",
            || {
                glBindRenderbuffer::<Mine>(RENDERBUFFER, 1);
                glRenderbufferStorage::<Mine>(RENDERBUFFER, RGBA, 1, 1);
            },
            INVALID_ENUM,
        ),
        (
            "4.4.3: an image that is not level 0",
            || {
                glBindTexture::<Mine>(TEXTURE_2D, 1);
                glBindFramebuffer::<Mine>(FRAMEBUFFER, 1);
                glFramebufferTexture2D::<Mine>(FRAMEBUFFER, enums::COLOR_ATTACHMENT0, TEXTURE_2D, 1, 1);
            },
            INVALID_VALUE,
        ),
        (
            "4.4.5: a framebuffer without images",
            || {
                glBindFramebuffer::<Mine>(FRAMEBUFFER, 1);
                glClear::<Mine>(enums::COLOR_BUFFER_BIT);
            },
            INVALID_FRAMEBUFFER_OPERATION,
        ),
        ("5.2: a hint", || glHint::<Mine>(BLEND, enums::NICEST), INVALID_ENUM),
        ("6.1: a name that has no value", || assert_eq!(integer(TRIANGLES), i32::MIN), INVALID_ENUM),
        ("6.1.1: a capability", || assert_eq!(glIsEnabled::<Mine>(RGBA), 0), INVALID_ENUM),
        ("6.1.5: a string", || assert!(glGetString::<Mine>(RGBA).is_null()), INVALID_ENUM),
        (
            "OES_vertex_array_object: a name that was not given out",
            || glBindVertexArrayOES::<Mine>(1),
            INVALID_OPERATION,
        ),
    ]
};

#[test]
fn each_mistake_has_the_error_of_the_specification_and_no_effect_on_the_session() {
    for (what, mistake, wanted) in CASES {
        begin();
        mistake();
        assert_eq!(error(), *wanted, "{what}");
        assert_eq!(error(), enums::NO_ERROR, "{what}: one error");
    }
}

#[test]
fn the_table_is_the_specification_s_and_what_is_not_in_it_is_not_there() {
    let all: Vec<_> = names().collect();
    assert_eq!(all.iter().filter(|name| !name.ends_with("OES")).count(), 142, "OpenGL ES 2.0");
    for name in &all {
        assert!(proc_address::<Mine>(name).is_some(), "{name}");
    }
    for name in ["glDrawArraysInstanced", "glMapBufferOES", "eglSwapBuffers", ""] {
        assert!(proc_address::<Mine>(name).is_none(), "{name}");
    }
}

#[test]
fn without_a_context_nothing_happens() {
    CONTEXT.take();
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    assert_eq!((error(), glCreateProgram::<Mine>(), glGetString::<Mine>(enums::VENDOR)), (0, 0, ptr::null()));
}

#[test]
fn state_has_its_initial_values_and_those_that_it_is_given() {
    begin();
    let mut box_ = [0; 4];
    glGetIntegerv::<Mine>(enums::VIEWPORT, box_.as_mut_ptr());
    assert_eq!(box_, [0, 0, 32, 16]);
    glGetIntegerv::<Mine>(enums::SCISSOR_BOX, box_.as_mut_ptr());
    assert_eq!(box_, [0, 0, 32, 16]);
    assert_eq!(integer(enums::DITHER), 1);
    assert_eq!(integer(enums::DEPTH_FUNC), enums::LESS as i32);
    assert_eq!(integer(enums::BLEND_SRC_RGB), enums::ONE as i32);
    assert_eq!(integer(enums::STENCIL_WRITEMASK), -1);
    glClearColor::<Mine>(2.0, -1.0, 0.5, 1.0);
    let mut color = [0.0; 4];
    glGetFloatv::<Mine>(enums::COLOR_CLEAR_VALUE, color.as_mut_ptr());
    assert_eq!(color, [1.0, 0.0, 0.5, 1.0], "clamped");
    assert_eq!(integer(enums::COLOR_CLEAR_VALUE), i32::MAX, "a colour covers the whole range");
    let renderer = Mine::with(|context| context.own.limits.renderer.clone()).unwrap();
    assert_eq!(renderer.as_c_str(), c"Runahead (nothing)");
    assert!(!glGetString::<Mine>(enums::RENDERER).is_null());
    assert_eq!(error(), enums::NO_ERROR);
}

#[test]
fn everything_that_is_drawn_reaches_the_backend() {
    let log = begin();
    let program = program();
    glUseProgram::<Mine>(program);
    let place = |name: &CStr| glGetUniformLocation::<Mine>(program, name.as_ptr());
    glUniform2f::<Mine>(place(c"u"), 1.0, 2.0);
    let matrices: Vec<f32> = (0..18).map(|n| n as f32).collect();
    glUniformMatrix3fv::<Mine>(place(c"arr[1]"), 9, 0, matrices.as_ptr());
    let mut read = [0.0; 9];
    glGetUniformfv::<Mine>(program, place(c"arr[2]"), read.as_mut_ptr());
    assert_eq!(read, matrices[9..], "elements beyond the end are ignored");
    glTexImage2D::<Mine>(
        enums::TEXTURE_2D,
        0,
        enums::RGB as i32,
        4,
        4,
        0,
        enums::RGB,
        enums::UNSIGNED_BYTE,
        [0_u8; 48].as_ptr().cast(),
    );
    glGenerateMipmap::<Mine>(enums::TEXTURE_2D);
    let corners = [0.0_f32; 12];
    let pos = glGetAttribLocation::<Mine>(program, c"pos".as_ptr()) as u32;
    glEnableVertexAttribArray::<Mine>(pos);
    glVertexAttribPointer::<Mine>(pos, 4, enums::FLOAT, 0, 0, corners.as_ptr().cast());
    glDrawArrays::<Mine>(enums::TRIANGLES, 0, 3);
    glDrawElements::<Mine>(enums::TRIANGLES, 3, enums::UNSIGNED_BYTE, [2_u8, 1, 0].as_ptr().cast());
    let mut buffer = 0;
    glGenBuffers::<Mine>(1, &mut buffer);
    glBindBuffer::<Mine>(enums::ARRAY_BUFFER, buffer);
    glBufferData::<Mine>(enums::ARRAY_BUFFER, 48, corners.as_ptr().cast(), enums::STATIC_DRAW);
    glVertexAttribPointer::<Mine>(pos, 4, enums::FLOAT, 0, 0, ptr::null());
    glDrawArrays::<Mine>(enums::TRIANGLES, 0, 3);
    glClear::<Mine>(enums::COLOR_BUFFER_BIT | enums::DEPTH_BUFFER_BIT);
    let mut pixels = [0_u8; 4 * 4];
    glReadPixels::<Mine>(0, 0, 2, 2, enums::RGBA, enums::UNSIGNED_BYTE, pixels.as_mut_ptr().cast());
    glFinish::<Mine>();
    assert_eq!(error(), enums::NO_ERROR);
    let calls = log.0.lock().unwrap().clone();
    let count = |method| calls.iter().filter(|call| **call == method).count();
    assert_eq!(count(Method::Draw), 3);
    assert_eq!(count(Method::Clear), 1);
    assert_eq!(count(Method::BeginRead), 1);
    assert_eq!(count(Method::GenerateMipmap), 1);
    assert_eq!(count(Method::CreateShader), 1);
    assert_eq!(count(Method::UploadTexture), 1);
    assert_eq!(count(Method::UploadBuffer), 4, "two copies of the corners, the indices, the buffer");
}

/// What a draw copies from the application's memory stays until the draw: no store that takes one array of it is defined
/// anew for another. And a program that goes on drawing so does not go on defining stores.
#[test]
fn copies_of_one_draw_lie_in_one_store_and_stores_are_used_again() {
    for size in [100_000, 600_000, 1_500_000] {
        let log = begin();
        let program =
            program_of(c"attribute vec4 pos; attribute vec4 more; void main() { gl_Position = pos + more; }");
        glUseProgram::<Mine>(program);
        let mut arrays = [(); 2].map(|()| vec![0_u8; size]);
        for (name, array) in [c"pos", c"more"].into_iter().zip(&arrays) {
            let at = glGetAttribLocation::<Mine>(program, name.as_ptr()) as u32;
            glEnableVertexAttribArray::<Mine>(at);
            glVertexAttribPointer::<Mine>(at, 4, enums::FLOAT, 0, 0, array.as_ptr().cast());
        }
        for draw in 0..50 {
            // Each time something else, so that it is copied.
            arrays.iter_mut().for_each(|array| array[7] = draw);
            glDrawArrays::<Mine>(enums::TRIANGLES, 0, (size / 16 / 3 * 3) as i32);
        }
        assert_eq!(error(), enums::NO_ERROR);
        let calls = log.0.lock().unwrap().clone();
        let draws: Vec<&[Method]> = calls.split(|call| *call == Method::Draw).collect();
        assert_eq!(draws.len(), 51);
        for before in &draws[..50] {
            let first = before.iter().position(|call| *call == Method::UploadBuffer).expect("it copies");
            assert!(!before[first..].contains(&Method::DefineStorage), "{size}: {before:?}");
        }
        let defined = calls.iter().filter(|call| **call == Method::DefineStorage).count();
        assert!(defined <= 4, "{size}: {defined} stores");
    }
}

/// What a draw reads of the application's memory crosses again when it is another, and not for ever when it is the same.
#[test]
fn memory_that_stays_as_it_is_crosses_once() {
    let log = begin();
    let program =
        program_of(c"attribute vec4 pos; attribute vec4 more; void main() { gl_Position = pos + more; }");
    glUseProgram::<Mine>(program);
    let mut arrays = [(); 2].map(|()| vec![0_u8; 48_000]);
    let indices: Vec<u16> = (0..3000).collect();
    for (name, array) in [c"pos", c"more"].into_iter().zip(&arrays) {
        let at = glGetAttribLocation::<Mine>(program, name.as_ptr()) as u32;
        glEnableVertexAttribArray::<Mine>(at);
        glVertexAttribPointer::<Mine>(at, 4, enums::FLOAT, 0, 0, array.as_ptr().cast());
    }
    let uploads = |draws: i32| {
        log.0.lock().unwrap().clear();
        for _ in 0..draws {
            glDrawElements::<Mine>(enums::TRIANGLES, 3000, enums::UNSIGNED_SHORT, indices.as_ptr().cast());
        }
        assert_eq!(error(), enums::NO_ERROR);
        let calls = log.0.lock().unwrap();
        assert_eq!(calls.iter().filter(|call| **call == Method::Draw).count() as i32, draws);
        calls.iter().filter(|call| **call == Method::UploadBuffer).count()
    };
    // The two arrays and the indices: twice as copies, until they are found to stay, and then once.
    assert_eq!(uploads(50), 9);
    assert_eq!(uploads(50), 0);
    arrays[1][47_999] ^= 1;
    // Twice as a copy, and then as what stays.
    assert_eq!(uploads(1), 1);
    assert_eq!(uploads(50), 2);
    assert_eq!(uploads(50), 0);
    let mut always = || {
        arrays[1][0] = arrays[1][0].wrapping_add(1);
        uploads(1)
    };
    assert_eq!((0..100).map(|_| always()).sum::<usize>(), 100, "negative control");
    CONTEXT.take();
    let released = log.0.lock().unwrap().iter().filter(|call| **call == Method::Release).count();
    assert!(released >= 4, "{released}: two buffers of these, and stores");
}

#[test]
fn an_object_that_is_deleted_while_it_is_bound_lives_on_and_ends_once() {
    let log = begin();
    let program = program();
    glUseProgram::<Mine>(program);
    glDeleteProgram::<Mine>(program);
    assert_eq!((glIsProgram::<Mine>(program), integer(enums::CURRENT_PROGRAM)), (1, program as i32));
    glBindTexture::<Mine>(enums::TEXTURE_2D, 9);
    let image = || {
        glTexImage2D::<Mine>(
            enums::TEXTURE_2D,
            0,
            enums::RGBA as i32,
            8,
            8,
            0,
            enums::RGBA,
            enums::UNSIGNED_BYTE,
            ptr::null(),
        );
    };
    image();
    glBindFramebuffer::<Mine>(enums::FRAMEBUFFER, 3);
    glFramebufferTexture2D::<Mine>(enums::FRAMEBUFFER, enums::COLOR_ATTACHMENT0, enums::TEXTURE_2D, 9, 0);
    assert_eq!(glCheckFramebufferStatus::<Mine>(enums::FRAMEBUFFER), enums::FRAMEBUFFER_COMPLETE);
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    // Deleted while another framebuffer is bound: it stays attached (section 4.4.2).
    glBindFramebuffer::<Mine>(enums::FRAMEBUFFER, 0);
    glDeleteTextures::<Mine>(1, &9);
    assert_eq!(glIsTexture::<Mine>(9), 0);
    glBindFramebuffer::<Mine>(enums::FRAMEBUFFER, 3);
    assert_eq!(glCheckFramebufferStatus::<Mine>(enums::FRAMEBUFFER), enums::FRAMEBUFFER_COMPLETE);
    glDeleteFramebuffers::<Mine>(1, &3);
    glUseProgram::<Mine>(0);
    assert_eq!(glIsProgram::<Mine>(program), 0);
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    assert_eq!(error(), enums::NO_ERROR);
    CONTEXT.take();
    let calls = log.0.lock().unwrap();
    assert_eq!(calls.iter().filter(|call| **call == Method::Clear).count(), 2);
    assert!(
        calls.iter().filter(|call| **call == Method::Release).count() >= 3,
        "texture, framebuffer, program"
    );
}

#[test]
fn images_that_do_not_fit_yet_are_kept_until_they_do() {
    let log = begin();
    let image = |level: i32, size: i32| {
        let texels = [0_u8; 4 * 256];
        glTexImage2D::<Mine>(
            enums::TEXTURE_2D,
            level,
            enums::RGBA as i32,
            size,
            size,
            0,
            enums::RGBA,
            enums::UNSIGNED_BYTE,
            texels.as_ptr().cast(),
        );
    };
    let uploads =
        |log: &Log| log.0.lock().unwrap().iter().filter(|call| **call == Method::UploadTexture).count();
    image(0, 16);
    image(1, 4);
    assert_eq!(uploads(&log), 1, "level 1 of 16 is 8");
    image(0, 8);
    assert_eq!((uploads(&log), error()), (3, enums::NO_ERROR), "level 0, and what was kept");
    glTexSubImage2D::<Mine>(
        enums::TEXTURE_2D,
        1,
        1,
        1,
        3,
        3,
        enums::RGBA,
        enums::UNSIGNED_BYTE,
        [0_u8; 36].as_ptr().cast(),
    );
    assert_eq!((uploads(&log), error()), (4, enums::NO_ERROR));
}

#[test]
fn each_image_that_is_defined_is_defined_on_the_server_too() {
    let log = begin();
    let defined = |log: &Log| {
        let calls = log.0.lock().unwrap();
        calls.iter().filter(|call| **call == Method::DefineStorage).count()
    };
    let image = |target: u32, level: i32, size: i32| {
        glTexImage2D::<Mine>(
            target,
            level,
            enums::RGBA as i32,
            size,
            size,
            0,
            enums::RGBA,
            enums::UNSIGNED_BYTE,
            ptr::null(),
        );
    };
    image(enums::TEXTURE_2D, 0, 16);
    image(enums::TEXTURE_2D, 2, 4);
    image(enums::TEXTURE_2D, 1, 8);
    assert_eq!(defined(&log), 3, "level 1 lies within the chain, and is new");
    image(enums::TEXTURE_2D, 1, 8);
    assert_eq!(defined(&log), 3, "it is as it was");
    let face = enums::TEXTURE_CUBE_MAP_POSITIVE_X;
    (0..6).for_each(|at| image(face + at, 0, 4));
    assert_eq!(defined(&log), 4, "a cube begins with all of its faces");
    (0..6).for_each(|at| image(face + at, 0, 8));
    assert_eq!((defined(&log), error()), (10, enums::NO_ERROR), "each face has another size");
}

#[test]
fn a_context_that_is_not_current_names_no_surface() {
    begin();
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    Mine::with(Context::detach);
    let bind = Mine::with(|context| context.bind()).unwrap();
    assert_eq!((bind.context, bind.draw_surface, bind.read_surface), (1, 0, 0));
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    assert_eq!(error(), enums::INVALID_FRAMEBUFFER_OPERATION, "there is nothing to clear");
    Mine::with(|context| context.attach(Some(&SURFACE), Some(&SURFACE)));
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    assert_eq!(error(), enums::NO_ERROR);
}

#[test]
fn contexts_share_objects_and_none_draws_with_what_the_other_ended() {
    begin();
    let first = Mine::with(|context| context.share_group().clone()).unwrap();
    let session = Mine::with(|context| context.own.shared_session()).unwrap();
    {
        let (pipe, ..) = &mut *session.0.lock().unwrap();
        let Either::First(applier) = pipe else { unreachable!("there is no ring") };
        applier.create_context(2, Some(1)).unwrap();
    }
    let attributes = Attributes::default();
    let mail = Arc::new(Mail::default());
    let other =
        caps(|caps| Context::new(Arc::clone(&session), 2, &first, &attributes, caps, Arc::clone(&mail)));
    let swap = |with: Context<Here>| CONTEXT.replace(Some(with)).unwrap();
    let draw = |indices: u32| {
        glBindBuffer::<Mine>(enums::ELEMENT_ARRAY_BUFFER, indices);
        glDrawElements::<Mine>(enums::POINTS, 1, enums::UNSIGNED_BYTE, ptr::null());
    };
    let program = program();
    glUseProgram::<Mine>(program);
    glBindBuffer::<Mine>(enums::ELEMENT_ARRAY_BUFFER, 1);
    glBufferData::<Mine>(enums::ELEMENT_ARRAY_BUFFER, 4, [0_u8; 4].as_ptr().cast(), enums::STATIC_DRAW);
    glBindTexture::<Mine>(enums::TEXTURE_2D, 1);
    glTexImage2D::<Mine>(
        enums::TEXTURE_2D,
        0,
        enums::RGBA as i32,
        1,
        1,
        0,
        enums::RGBA,
        enums::UNSIGNED_BYTE,
        ptr::null(),
    );
    glTexParameteri::<Mine>(enums::TEXTURE_2D, enums::TEXTURE_MIN_FILTER, enums::NEAREST as i32);
    draw(1);
    assert_eq!(error(), enums::NO_ERROR);
    let mut first = swap(other);
    Mine::with(|context| context.attach(Some(&SURFACE), Some(&SURFACE)));
    assert_eq!((glIsTexture::<Mine>(1), glIsProgram::<Mine>(program)), (1, 1));
    glUseProgram::<Mine>(program);
    glBindTexture::<Mine>(enums::TEXTURE_2D, 1);
    draw(1);
    // The names go here, while the first context still has them bound; then it lets go, and they end there.
    glDeleteBuffers::<Mine>(1, &1);
    glDeleteTextures::<Mine>(1, &1);
    first = swap(first);
    draw(1);
    glBindTexture::<Mine>(enums::TEXTURE_2D, 0);
    glBindBuffer::<Mine>(enums::ELEMENT_ARRAY_BUFFER, 0);
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    assert_eq!(Mine::with(|context| context.is_lost()), Some(false));
    swap(first);
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    glDrawArrays::<Mine>(enums::POINTS, 0, 1);
    assert_eq!((error(), Mine::with(|context| context.is_lost())), (enums::NO_ERROR, Some(false)));
}

#[test]
fn a_fault_of_the_session_loses_the_context_and_nothing_else() {
    begin();
    Mine::with(|context| {
        context
            .own
            .turn(|_, turn| {
                let nobody = runahead_wire::payload::HandleOnly::default();
                Ok(turn.pipe.resource_destroy(&nobody)?)
            })
            .map_or_else(|error| context.own.note(Err::<(), _>(error)), Some)
    });
    assert!(Mine::with(|context| context.is_lost()).unwrap());
    glClear::<Mine>(enums::COLOR_BUFFER_BIT);
    assert_eq!(error(), enums::CONTEXT_LOST, "it was asked for");
}
