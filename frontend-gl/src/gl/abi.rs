//! The C entry points.
//!
//! One table: a line is a function of the specification, and what it does with the current context. Whatever is not in
//! the table is not there: [`proc_address`] finds nothing, [`names`] does not list it.
//!
//! No panic crosses to the application: one within a command marks the context as lost. Without a current context a
//! command does nothing.
#![allow(unsafe_code, non_snake_case)]

use std::{
    ffi::{c_char, c_void},
    panic::{AssertUnwindSafe, catch_unwind},
};

use runahead_core::{Session, Shared};

use super::{
    client_memory::{Address, Source, Target as Out},
    context::{Context, Objects, Own, State},
    enums,
    error::{Error, Outcome},
    get::Values,
    program::{Code, Given},
    table::Table,
    texture::{Part, Value},
    vertex::AttributeValue,
};

/// How an entry point finds its context.
pub trait Current: 'static {
    /// What the context draws through.
    type Session: Shared;

    /// Calls with the context that is current on this thread; none, and no call, where there is none.
    fn with<R>(call: impl FnOnce(&mut Context<Self::Session>) -> R) -> Option<R>;
}

/// What a command answers that did nothing.
trait Nothing {
    const NOTHING: Self;
}

impl Nothing for () {
    const NOTHING: Self = ();
}

impl Nothing for u8 {
    const NOTHING: Self = 0;
}

impl Nothing for u32 {
    const NOTHING: Self = 0;
}

impl Nothing for i32 {
    const NOTHING: Self = 0;
}

impl Nothing for *const u8 {
    const NOTHING: Self = std::ptr::null();
}

/// Runs a command on the current context.
#[inline(always)]
fn enter<C: Current, R: Nothing>(call: impl FnOnce(&mut Context<C::Session>) -> Option<R>) -> R {
    match catch_unwind(AssertUnwindSafe(|| C::with(call))) {
        Ok(answer) => answer.flatten().unwrap_or(R::NOTHING),
        Err(_) => {
            lose::<C>();
            R::NOTHING
        }
    }
}

#[cold]
fn lose<C: Current>() {
    let _ = catch_unwind(|| C::with(Context::lose));
}

/// A source from an argument.
fn source<'a, T>(at: *const T) -> Source<'a> {
    // SAFETY: an argument of a command, made into a source within that call (the contract of the module).
    unsafe { Source::new(at) }
}

/// A target from an argument.
fn out<'a, T>(at: *mut T) -> Out<'a> {
    // SAFETY: as for `source`.
    unsafe { Out::new(at) }
}

/// Where an array lies, from an argument.
fn address(at: *const c_void) -> Address {
    // SAFETY: the argument of the command that says where an array lies (the contract of the module).
    unsafe { Address::new(at) }
}

/// A count that may be 0.
fn count(count: i32) -> Outcome<usize> {
    usize::try_from(count).map_err(|_| Error::InvalidValue)
}

/// A span of a buffer: an offset or a size.
fn bytes(bytes: isize) -> Outcome<u64> {
    u64::try_from(bytes).map_err(|_| Error::InvalidValue)
}

/// The names of a list.
fn listed(n: i32, names: *const u32) -> Outcome<Vec<u32>> {
    let words = source(names).words(count(n)?).ok_or(Error::InvalidValue)?;
    // Deleting one may end what others are attached to: the list is read first.
    Ok(words.collect())
}

/// Writes names that were free.
fn generate<T>(n: i32, names: *mut u32, table: &mut Table<T>) -> Outcome {
    let n = count(n)?;
    for at in 0..n {
        let name = table.generate().ok_or(Error::OutOfMemory)?;
        out(names).write(at * 4, &name.to_ne_bytes());
    }
    Ok(())
}

/// Writes a text and its length, as many commands do.
fn write_text(text: &[u8], room: i32, length: *mut i32, to: *mut c_char) -> Outcome {
    let written = out(to).write_text(text, count(room)?);
    out(length).write_words([written]);
    Ok(())
}

/// Writes what `glGetActiveAttrib` and `glGetActiveUniform` answer.
fn write_active(
    (name, elements, kind): (String, i32, u32),
    room: i32,
    length: *mut i32,
    size: *mut i32,
    type_: *mut u32,
    to: *mut c_char,
) -> Outcome {
    write_text(name.as_bytes(), room, length, to)?;
    out(size).write_words([elements as u32]);
    out(type_).write_words([kind]);
    Ok(())
}

/// Text of an argument.
fn text<'a>(at: *const c_char) -> Outcome<&'a [u8]> {
    source(at).text().ok_or(Error::InvalidValue)
}

/// The strings of `glShaderSource`, joined.
fn joined(n: i32, strings: *const *const c_char, lengths: *const i32) -> Outcome<Vec<u8>> {
    let n = count(n)?;
    let mut all = Vec::new();
    let pointers = source(strings).bytes((n * size_of::<usize>()) as u64).ok_or(Error::InvalidValue)?;
    let lengths: Vec<i32> = match source(lengths).words(n) {
        Some(lengths) if n != 0 => lengths.map(|length| length as i32).collect(),
        _ => Vec::new(),
    };
    for (at, pointer) in pointers.as_chunks::<{ size_of::<usize>() }>().0.iter().enumerate() {
        let string = std::ptr::with_exposed_provenance::<c_char>(usize::from_ne_bytes(*pointer));
        let string = match lengths.get(at).copied().map(u64::try_from) {
            Some(Ok(length)) => source(string).bytes(length),
            Some(Err(_)) | None => source(string).text(),
        };
        all.extend_from_slice(string.ok_or(Error::InvalidValue)?);
    }
    Ok(all)
}

fn is<T>(found: Option<T>) -> Outcome<u8> {
    Ok(u8::from(found.is_some()))
}

/// `glUniform*` with its values in registers.
fn uniform<P: Shared, T: Copy, const N: usize>(
    context: &mut Context<P>,
    location: i32,
    given: Given,
    values: [T; N],
) -> Option<()> {
    uniforms(context, location, 1, given, values.as_ptr())
}

/// `glUniform*v`.
fn uniforms<P: Shared, T>(
    context: &mut Context<P>,
    location: i32,
    count: i32,
    given: Given,
    values: *const T,
) -> Option<()> {
    context.run_shared(|c, o| c.uniform(o, location, count, given, source(values)))
}

/// `glUniformMatrix*v`: OpenGL ES 2.0 does not transpose (section 2.10.4).
fn matrices<P: Shared>(
    context: &mut Context<P>,
    location: i32,
    count: i32,
    transpose: u8,
    columns: u8,
    values: *const f32,
) -> Option<()> {
    if transpose != 0 {
        return context.run(|_| Err(Error::InvalidValue));
    }
    uniforms(context, location, count, Given::Matrices(columns), values)
}

/// Components of a current value, in the application's memory.
fn components<const N: usize>(values: *const f32) -> Outcome<[f32; 4]> {
    let mut value = [0.0, 0.0, 0.0, 1.0];
    let words = source(values).words(N).ok_or(Error::InvalidValue)?;
    value.iter_mut().zip(words).for_each(|(to, word)| *to = f32::from_bits(word));
    Ok(value)
}

/// Values as integers, where a float is rounded.
fn rounded(words: &[u32], floats: bool) -> impl Iterator<Item = u32> {
    words.iter().map(move |word| if floats { f32::from_bits(*word).round() as i32 as u32 } else { *word })
}

/// The text of `glGetString`.
fn string(state: &State, name: u32) -> Outcome<*const u8> {
    let limits = &state.limits;
    Ok(match name {
        enums::VENDOR => limits.vendor.as_ptr(),
        enums::RENDERER => limits.renderer.as_ptr(),
        enums::VERSION => limits.version.as_ptr(),
        enums::SHADING_LANGUAGE_VERSION => limits.shading_language.as_ptr(),
        enums::EXTENSIONS => limits.extension_text.as_ptr(),
        _ => return Err(Error::InvalidEnum),
    }
    .cast())
}

impl<P: Shared> Own<P> {
    /// `glGetError`: what the server said so far counts, without a wait.
    fn take_error(&mut self) -> Outcome<u32> {
        self.turn(|_, turn| Ok(turn.pipe.poll_events()?))?;
        self.look_for_mail();
        Ok(self.errors.take())
    }
}

impl State {
    /// What `glGetError` answers once the session is over, for who asked to be told.
    const fn error_when_lost(&self) -> u32 {
        if self.attributes.reset_notification { enums::CONTEXT_LOST } else { enums::NO_ERROR }
    }
}

/// `glGet*v`.
fn get<P: Shared>(context: &mut Context<P>, name: u32, write: impl FnOnce(&Values)) -> Option<()> {
    context.run_shared(|c, o| c.get(o, name).map(|values| write(&values)))
}

/// The parameter of a texture, of which the specification gives one value.
fn parameter<P: Shared>(
    context: &mut Context<P>,
    target: u32,
    name: u32,
    value: Outcome<Value>,
) -> Option<()> {
    context.run_shared(|c, o| c.texture_parameter(o, target, name, value?))
}

fn first(values: Source<'_>) -> Outcome<u32> {
    values.words(1).and_then(|mut words| words.next()).ok_or(Error::InvalidValue)
}

fn is_shader(objects: &Objects, name: u32, wanted: fn(&Code) -> bool) -> Outcome<u8> {
    let code = objects.code.find(name).and_then(|id| objects.code.get(id));
    is(code.filter(|code| wanted(code)))
}

macro_rules! entry_points {
    ($( $gl:ident($($arg:ident: $ty:ty),*) $(-> $answer:ty)? = |$context:ident| $body:expr; )+) => {
        $(
            pub(super) extern "C" fn $gl<C: Current>($($arg: $ty),*) $(-> $answer)? {
                enter::<C, _>(|$context| $body)
            }
        )+

        /// The C function of a name; none for what is not there.
        #[must_use]
        pub fn proc_address<C: Current>(name: &str) -> Option<*const c_void> {
            Some(match name {
                $( stringify!($gl) => $gl::<C> as extern "C" fn($($ty),*) $(-> $answer)? as *const c_void, )+
                _ => return None,
            })
        }

        const NAMES: &[&str] = &[ $( stringify!($gl), )+ ];
    };
}

/// Names of every function that is there.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().copied()
}

entry_points! {
    glActiveTexture(texture: u32) = |c| c.run(|c| c.active_texture(texture));
    glAttachShader(program: u32, shader: u32) = |c| c.run_shared(|c, o| c.attach_shader(o, program, shader));
    glBindAttribLocation(program: u32, index: u32, name: *const c_char) =
        |c| c.run_shared(|c, o| c.bind_attrib_location(o, program, index, text(name)?));
    glBindBuffer(target: u32, buffer: u32) = |c| c.run_shared(|c, o| c.bind_buffer(o, target, buffer));
    glBindFramebuffer(target: u32, framebuffer: u32) =
        |c| c.run_shared(|c, o| c.bind_framebuffer(o, target, framebuffer));
    glBindRenderbuffer(target: u32, renderbuffer: u32) =
        |c| c.run_shared(|c, o| c.bind_renderbuffer(o, target, renderbuffer));
    glBindTexture(target: u32, texture: u32) = |c| c.run_shared(|c, o| c.bind_texture(o, target, texture));
    glBlendColor(red: f32, green: f32, blue: f32, alpha: f32) = |c| c.run(|c| c.blend_color([red, green, blue, alpha]));
    glBlendEquation(mode: u32) = |c| c.run(|c| c.blend_equation(mode, mode));
    glBlendEquationSeparate(rgb: u32, alpha: u32) = |c| c.run(|c| c.blend_equation(rgb, alpha));
    glBlendFunc(source: u32, destination: u32) =
        |c| c.run(|c| c.blend_func(source, destination, source, destination));
    glBlendFuncSeparate(src_rgb: u32, dst_rgb: u32, src_alpha: u32, dst_alpha: u32) =
        |c| c.run(|c| c.blend_func(src_rgb, dst_rgb, src_alpha, dst_alpha));
    glBufferData(target: u32, size: isize, data: *const c_void, usage: u32) = |c| c.run_shared(|c, o| {
        let size = bytes(size);
        let data = source(data);
        let contents = match size {
            Ok(size) if !data.is_null() => Some(data.bytes(size).ok_or(Error::OutOfMemory)?),
            _ => None,
        };
        c.buffer_data(o, target, size?, contents, usage)
    });
    glBufferSubData(target: u32, offset: isize, size: isize, data: *const c_void) = |c| c.run_shared(|c, o| {
        let (offset, size) = (bytes(offset)?, bytes(size)?);
        let data = source(data);
        let contents = if data.is_null() { Some(&[][..]) } else { data.bytes(size) };
        c.buffer_sub_data(o, target, offset, contents.ok_or(Error::InvalidValue)?)
    });
    glCheckFramebufferStatus(target: u32) -> u32 = |c| c.run_shared(|c, o| c.check_framebuffer_status(o, target));
    glClear(mask: u32) = |c| c.run_shared(|c, o| c.clear(o, mask));
    glClearColor(red: f32, green: f32, blue: f32, alpha: f32) = |c| c.run(|c| c.clear_color([red, green, blue, alpha]));
    glClearDepthf(depth: f32) = |c| c.run(|c| c.clear_depth(depth));
    glClearStencil(stencil: i32) = |c| c.run(|c| c.clear_stencil(stencil));
    glColorMask(red: u8, green: u8, blue: u8, alpha: u8) =
        |c| c.run(|c| c.color_mask([red, green, blue, alpha].map(|on| on != 0)));
    glCompileShader(shader: u32) = |c| c.run_shared(|c, o| c.compile_shader(o, shader));
    glCompressedTexImage2D(
        target: u32, level: i32, internal: u32, width: i32, height: i32, border: i32, size: i32, data: *const c_void
    ) = |c| c.run_shared(|c, o| {
        c.compressed_tex_image(o, target, level, internal, (width, height), border, size, source(data))
    });
    glCompressedTexSubImage2D(
        target: u32, level: i32, x: i32, y: i32, width: i32, height: i32, format: u32, size: i32, data: *const c_void
    ) = |c| c.run_shared(|c, o| {
        c.compressed_tex_sub_image(o, target, level, Part { x, y, width, height }, format, size, source(data))
    });
    glCopyTexImage2D(
        target: u32, level: i32, internal: u32, x: i32, y: i32, width: i32, height: i32, border: i32
    ) = |c| c.run_shared(|c, o| c.copy_tex_image(o, target, level, internal, Part { x, y, width, height }, border));
    glCopyTexSubImage2D(
        target: u32, level: i32, to_x: i32, to_y: i32, x: i32, y: i32, width: i32, height: i32
    ) = |c| c.run_shared(|c, o| c.copy_tex_sub_image(o, target, level, (to_x, to_y), Part { x, y, width, height }));
    glCreateProgram() -> u32 = |c| c.run_shared(|c, o| c.create_program(o));
    glCreateShader(kind: u32) -> u32 = |c| c.run_shared(|c, o| c.create_shader(o, kind));
    glCullFace(mode: u32) = |c| c.run(|c| c.cull_face(mode));
    glDeleteBuffers(n: i32, names: *const u32) = |c| c.run_shared(|c, o| {
        listed(n, names)?.into_iter().for_each(|name| c.delete_buffer(o, name));
        Ok(())
    });
    glDeleteFramebuffers(n: i32, names: *const u32) = |c| c.run_shared(|c, o| {
        listed(n, names)?.into_iter().for_each(|name| c.delete_framebuffer(o, name));
        Ok(())
    });
    glDeleteProgram(program: u32) = |c| c.run_shared(|c, o| c.delete_program(o, program));
    glDeleteRenderbuffers(n: i32, names: *const u32) = |c| c.run_shared(|c, o| {
        listed(n, names)?.into_iter().for_each(|name| c.delete_renderbuffer(o, name));
        Ok(())
    });
    glDeleteShader(shader: u32) = |c| c.run_shared(|c, o| c.delete_shader(o, shader));
    glDeleteTextures(n: i32, names: *const u32) = |c| c.run_shared(|c, o| {
        listed(n, names)?.into_iter().for_each(|name| c.delete_texture(o, name));
        Ok(())
    });
    glDepthFunc(func: u32) = |c| c.run(|c| c.depth_func(func));
    glDepthMask(on: u8) = |c| c.run(|c| c.depth_mask(on != 0));
    glDepthRangef(near: f32, far: f32) = |c| c.run(|c| c.depth_range(near, far));
    glDetachShader(program: u32, shader: u32) = |c| c.run_shared(|c, o| c.detach_shader(o, program, shader));
    glDisable(capability: u32) = |c| c.run(|c| c.enable(capability, false));
    glDisableVertexAttribArray(index: u32) = |c| c.run(|c| c.enable_attribute(index, false));
    glDrawArrays(mode: u32, first: i32, count: i32) = |c| c.run_shared(|c, o| c.draw_arrays(o, mode, first, count));
    glDrawElements(mode: u32, count: i32, kind: u32, indices: *const c_void) =
        |c| c.run_shared(|c, o| c.draw_elements(o, mode, count, kind, source(indices), indices.addr() as u64));
    glEnable(capability: u32) = |c| c.run(|c| c.enable(capability, true));
    glEnableVertexAttribArray(index: u32) = |c| c.run(|c| c.enable_attribute(index, true));
    glFinish() = |c| { c.finish(); Some(()) };
    glFlush() = |c| { c.flush(); Some(()) };
    glFramebufferRenderbuffer(target: u32, attachment: u32, kind: u32, renderbuffer: u32) =
        |c| c.run_shared(|c, o| c.framebuffer_renderbuffer(o, target, attachment, kind, renderbuffer));
    glFramebufferTexture2D(target: u32, attachment: u32, image: u32, texture: u32, level: i32) =
        |c| c.run_shared(|c, o| c.framebuffer_texture(o, target, attachment, image, texture, level));
    glFrontFace(mode: u32) = |c| c.run(|c| c.front_face(mode));
    glGenBuffers(n: i32, names: *mut u32) = |c| c.run_shared(|_, o| generate(n, names, &mut o.buffers));
    glGenerateMipmap(target: u32) = |c| c.run_shared(|c, o| c.generate_mipmap(o, target));
    glGenFramebuffers(n: i32, names: *mut u32) = |c| c.run(|c| generate(n, names, &mut c.framebuffers));
    glGenRenderbuffers(n: i32, names: *mut u32) = |c| c.run_shared(|_, o| generate(n, names, &mut o.renderbuffers));
    glGenTextures(n: i32, names: *mut u32) = |c| c.run_shared(|_, o| generate(n, names, &mut o.textures));
    glGetActiveAttrib(
        program: u32, index: u32, room: i32, length: *mut i32, size: *mut i32, kind: *mut u32, name: *mut c_char
    ) = |c| c.run_shared(|c, o| {
        write_active(c.active_attribute(o, program, index)?, room, length, size, kind, name)
    });
    glGetActiveUniform(
        program: u32, index: u32, room: i32, length: *mut i32, size: *mut i32, kind: *mut u32, name: *mut c_char
    ) = |c| c.run_shared(|c, o| {
        write_active(c.active_uniform(o, program, index)?, room, length, size, kind, name)
    });
    glGetAttachedShaders(program: u32, room: i32, written: *mut i32, shaders: *mut u32) = |c| c.run_shared(|c, o| {
        let attached = c.attached_shaders(o, program)?;
        let attached: Vec<u32> = attached.into_iter().flatten().take(count(room)?).collect();
        out(written).write_words([attached.len() as u32]);
        out(shaders).write_words(attached);
        Ok(())
    });
    glGetAttribLocation(program: u32, name: *const c_char) -> i32 =
        |c| c.run_shared(|c, o| c.attrib_location(o, program, text(name)?)).or(Some(-1));
    glGetBooleanv(name: u32, data: *mut u8) = |c| get(c, name, |values| out(data).write(0, &values.truths()));
    glGetBufferParameteriv(target: u32, name: u32, params: *mut i32) = |c| c.run_shared(|c, o| {
        out(params).write_words([c.buffer_parameter(o, target, name)? as u32]);
        Ok(())
    });
    glGetError() -> u32 = |c| c.run(|c| c.take_error()).or_else(|| Some(c.own.error_when_lost()));
    glGetFloatv(name: u32, data: *mut f32) =
        |c| get(c, name, |values| out(data).write_words(values.floats().into_iter().map(f32::to_bits)));
    glGetFramebufferAttachmentParameteriv(target: u32, attachment: u32, name: u32, params: *mut i32) =
        |c| c.run_shared(|c, o| {
            out(params).write_words([c.attachment_parameter(o, target, attachment, name)? as u32]);
            Ok(())
        });
    glGetIntegerv(name: u32, data: *mut i32) = |c| get(c, name, |values| out(data).write_words(values.integers()));
    glGetProgramiv(program: u32, name: u32, params: *mut i32) = |c| c.run_shared(|c, o| {
        out(params).write_words([c.program_parameter(o, program, name)? as u32]);
        Ok(())
    });
    glGetProgramInfoLog(program: u32, room: i32, length: *mut i32, log: *mut c_char) =
        |c| c.run_shared(|c, o| write_text(c.program_log(o, program)?, room, length, log));
    glGetRenderbufferParameteriv(target: u32, name: u32, params: *mut i32) = |c| c.run_shared(|c, o| {
        out(params).write_words([c.renderbuffer_parameter(o, target, name)? as u32]);
        Ok(())
    });
    glGetShaderiv(shader: u32, name: u32, params: *mut i32) = |c| c.run_shared(|c, o| {
        out(params).write_words([c.shader_parameter(o, shader, name)? as u32]);
        Ok(())
    });
    glGetShaderInfoLog(shader: u32, room: i32, length: *mut i32, log: *mut c_char) =
        |c| c.run_shared(|c, o| write_text(c.shader_log(o, shader)?, room, length, log));
    glGetShaderPrecisionFormat(shader: u32, precision: u32, range: *mut i32, bits: *mut i32) = |c| c.run(|c| {
        let (exponents, precision) = c.precision(shader, precision)?;
        out(range).write_words(exponents.map(|exponent| exponent as u32));
        out(bits).write_words([precision as u32]);
        Ok(())
    });
    glGetShaderSource(shader: u32, room: i32, length: *mut i32, text: *mut c_char) =
        |c| c.run_shared(|c, o| write_text(c.source_of(o, shader)?, room, length, text));
    glGetString(name: u32) -> *const u8 = |c| c.run(|c| string(c, name));
    glGetTexParameterfv(target: u32, name: u32, params: *mut f32) = |c| c.run_shared(|c, o| {
        out(params).write_words([c.texture_parameter_value(o, target, name)?.float().to_bits()]);
        Ok(())
    });
    glGetTexParameteriv(target: u32, name: u32, params: *mut i32) = |c| c.run_shared(|c, o| {
        out(params).write_words([c.texture_parameter_value(o, target, name)?.number()]);
        Ok(())
    });
    glGetUniformfv(program: u32, location: i32, params: *mut f32) = |c| c.run_shared(|c, o| {
        let (words, floats) = c.uniform_value(o, program, location)?;
        let float = |word: u32| if floats { word } else { (word as i32 as f32).to_bits() };
        out(params).write_words(words.into_iter().map(float));
        Ok(())
    });
    glGetUniformiv(program: u32, location: i32, params: *mut i32) = |c| c.run_shared(|c, o| {
        let (words, floats) = c.uniform_value(o, program, location)?;
        out(params).write_words(rounded(&words, floats));
        Ok(())
    });
    glGetUniformLocation(program: u32, name: *const c_char) -> i32 =
        |c| c.run_shared(|c, o| c.uniform_location(o, program, text(name)?)).or(Some(-1));
    glGetVertexAttribfv(index: u32, name: u32, params: *mut f32) = |c| c.run_shared(|c, o| {
        match c.attribute_parameter(o, index, name)? {
            AttributeValue::Current(value) => out(params).write_words(value.map(f32::to_bits)),
            AttributeValue::Number(number) => out(params).write_words([(number as f32).to_bits()]),
        }
        Ok(())
    });
    glGetVertexAttribiv(index: u32, name: u32, params: *mut i32) = |c| c.run_shared(|c, o| {
        match c.attribute_parameter(o, index, name)? {
            AttributeValue::Current(value) => out(params).write_words(rounded(&value.map(f32::to_bits), true)),
            AttributeValue::Number(number) => out(params).write_words([number]),
        }
        Ok(())
    });
    glGetVertexAttribPointerv(index: u32, name: u32, pointer: *mut *mut c_void) = |c| c.run(|c| {
        out(pointer).write(0, &c.attribute_address(index, name)?.to_ne_bytes());
        Ok(())
    });
    glHint(target: u32, mode: u32) = |c| c.run(|c| c.hint(target, mode));
    glIsBuffer(name: u32) -> u8 = |c| c.run_shared(|_, o| is(o.buffers.find(name)));
    glIsEnabled(capability: u32) -> u8 = |c| c.run(|c| c.is_enabled(capability).map(u8::from));
    glIsFramebuffer(name: u32) -> u8 = |c| c.run(|c| is(c.framebuffers.find(name)));
    glIsProgram(name: u32) -> u8 = |c| c.run_shared(|_, o| is_shader(o, name, |code| matches!(code, Code::Program(_))));
    glIsRenderbuffer(name: u32) -> u8 = |c| c.run_shared(|_, o| is(o.renderbuffers.find(name)));
    glIsShader(name: u32) -> u8 = |c| c.run_shared(|_, o| is_shader(o, name, |code| matches!(code, Code::Shader(_))));
    glIsTexture(name: u32) -> u8 = |c| c.run_shared(|_, o| is(o.textures.find(name)));
    glLineWidth(width: f32) = |c| c.run(|c| c.line_width(width));
    glLinkProgram(program: u32) = |c| c.run_shared(|c, o| c.link_program(o, program));
    glPixelStorei(name: u32, value: i32) = |c| c.run(|c| c.pixel_store(name, value));
    glPolygonOffset(factor: f32, units: f32) = |c| c.run(|c| c.polygon_offset(factor, units));
    glReadPixels(x: i32, y: i32, width: i32, height: i32, format: u32, kind: u32, pixels: *mut c_void) = |c| {
        c.read_pixels(Part { x, y, width, height }, format, kind, out(pixels));
        Some(())
    };
    glReleaseShaderCompiler() = |c| c.run(|_| Ok(()));
    glRenderbufferStorage(target: u32, internal: u32, width: i32, height: i32) =
        |c| c.run_shared(|c, o| c.renderbuffer_storage(o, target, internal, width, height));
    glSampleCoverage(value: f32, invert: u8) = |c| c.run(|c| c.sample_coverage(value, invert != 0));
    glScissor(x: i32, y: i32, width: i32, height: i32) = |c| c.run(|c| c.scissor(x, y, width, height));
    glShaderBinary(n: i32, _shaders: *const u32, _format: u32, _binary: *const c_void, length: i32) = |c| c.run(|_| {
        count(n)?;
        count(length)?;
        // There is no format (section 2.10.2).
        Err::<(), _>(Error::InvalidEnum)
    });
    glShaderSource(shader: u32, n: i32, strings: *const *const c_char, lengths: *const i32) =
        |c| c.run_shared(|c, o| c.shader_source(o, shader, joined(n, strings, lengths)?));
    glStencilFunc(func: u32, reference: i32, mask: u32) =
        |c| c.run(|c| c.stencil_func(enums::FRONT_AND_BACK, func, reference, mask));
    glStencilFuncSeparate(face: u32, func: u32, reference: i32, mask: u32) =
        |c| c.run(|c| c.stencil_func(face, func, reference, mask));
    glStencilMask(mask: u32) = |c| c.run(|c| c.stencil_mask(enums::FRONT_AND_BACK, mask));
    glStencilMaskSeparate(face: u32, mask: u32) = |c| c.run(|c| c.stencil_mask(face, mask));
    glStencilOp(fail: u32, depth_fail: u32, pass: u32) =
        |c| c.run(|c| c.stencil_ops(enums::FRONT_AND_BACK, fail, depth_fail, pass));
    glStencilOpSeparate(face: u32, fail: u32, depth_fail: u32, pass: u32) =
        |c| c.run(|c| c.stencil_ops(face, fail, depth_fail, pass));
    glTexImage2D(
        target: u32, level: i32, internal: i32, width: i32, height: i32, border: i32, format: u32, kind: u32,
        pixels: *const c_void
    ) = |c| c.run_shared(|c, o| {
        c.tex_image(o, target, level, internal, (width, height), border, format, kind, source(pixels))
    });
    glTexParameterf(target: u32, name: u32, value: f32) = |c| parameter(c, target, name, Ok(Value::Float(value)));
    glTexParameterfv(target: u32, name: u32, values: *const f32) =
        |c| parameter(c, target, name, first(source(values)).map(|word| Value::Float(f32::from_bits(word))));
    glTexParameteri(target: u32, name: u32, value: i32) = |c| parameter(c, target, name, Ok(Value::Integer(value)));
    glTexParameteriv(target: u32, name: u32, values: *const i32) =
        |c| parameter(c, target, name, first(source(values)).map(|word| Value::Integer(word as i32)));
    glTexSubImage2D(
        target: u32, level: i32, x: i32, y: i32, width: i32, height: i32, format: u32, kind: u32,
        pixels: *const c_void
    ) = |c| c.run_shared(|c, o| {
        c.tex_sub_image(o, target, level, Part { x, y, width, height }, format, kind, source(pixels))
    });
    glUniform1f(location: i32, x: f32) = |c| uniform(c, location, Given::Floats(1), [x]);
    glUniform1fv(location: i32, n: i32, values: *const f32) = |c| uniforms(c, location, n, Given::Floats(1), values);
    glUniform1i(location: i32, x: i32) = |c| uniform(c, location, Given::Integers(1), [x]);
    glUniform1iv(location: i32, n: i32, values: *const i32) = |c| uniforms(c, location, n, Given::Integers(1), values);
    glUniform2f(location: i32, x: f32, y: f32) = |c| uniform(c, location, Given::Floats(2), [x, y]);
    glUniform2fv(location: i32, n: i32, values: *const f32) = |c| uniforms(c, location, n, Given::Floats(2), values);
    glUniform2i(location: i32, x: i32, y: i32) = |c| uniform(c, location, Given::Integers(2), [x, y]);
    glUniform2iv(location: i32, n: i32, values: *const i32) = |c| uniforms(c, location, n, Given::Integers(2), values);
    glUniform3f(location: i32, x: f32, y: f32, z: f32) = |c| uniform(c, location, Given::Floats(3), [x, y, z]);
    glUniform3fv(location: i32, n: i32, values: *const f32) = |c| uniforms(c, location, n, Given::Floats(3), values);
    glUniform3i(location: i32, x: i32, y: i32, z: i32) = |c| uniform(c, location, Given::Integers(3), [x, y, z]);
    glUniform3iv(location: i32, n: i32, values: *const i32) = |c| uniforms(c, location, n, Given::Integers(3), values);
    glUniform4f(location: i32, x: f32, y: f32, z: f32, w: f32) =
        |c| uniform(c, location, Given::Floats(4), [x, y, z, w]);
    glUniform4fv(location: i32, n: i32, values: *const f32) = |c| uniforms(c, location, n, Given::Floats(4), values);
    glUniform4i(location: i32, x: i32, y: i32, z: i32, w: i32) =
        |c| uniform(c, location, Given::Integers(4), [x, y, z, w]);
    glUniform4iv(location: i32, n: i32, values: *const i32) = |c| uniforms(c, location, n, Given::Integers(4), values);
    glUniformMatrix2fv(location: i32, n: i32, transpose: u8, values: *const f32) =
        |c| matrices(c, location, n, transpose, 2, values);
    glUniformMatrix3fv(location: i32, n: i32, transpose: u8, values: *const f32) =
        |c| matrices(c, location, n, transpose, 3, values);
    glUniformMatrix4fv(location: i32, n: i32, transpose: u8, values: *const f32) =
        |c| matrices(c, location, n, transpose, 4, values);
    glUseProgram(program: u32) = |c| c.run_shared(|c, o| c.use_program(o, program));
    glValidateProgram(program: u32) = |c| c.run_shared(|c, o| c.validate_program(o, program));
    glVertexAttrib1f(index: u32, x: f32) = |c| c.run(|c| c.attribute_value(index, [x, 0.0, 0.0, 1.0]));
    glVertexAttrib1fv(index: u32, values: *const f32) =
        |c| c.run(|c| c.attribute_value(index, components::<1>(values)?));
    glVertexAttrib2f(index: u32, x: f32, y: f32) = |c| c.run(|c| c.attribute_value(index, [x, y, 0.0, 1.0]));
    glVertexAttrib2fv(index: u32, values: *const f32) =
        |c| c.run(|c| c.attribute_value(index, components::<2>(values)?));
    glVertexAttrib3f(index: u32, x: f32, y: f32, z: f32) = |c| c.run(|c| c.attribute_value(index, [x, y, z, 1.0]));
    glVertexAttrib3fv(index: u32, values: *const f32) =
        |c| c.run(|c| c.attribute_value(index, components::<3>(values)?));
    glVertexAttrib4f(index: u32, x: f32, y: f32, z: f32, w: f32) = |c| c.run(|c| c.attribute_value(index, [x, y, z, w]));
    glVertexAttrib4fv(index: u32, values: *const f32) =
        |c| c.run(|c| c.attribute_value(index, components::<4>(values)?));
    glVertexAttribPointer(index: u32, size: i32, kind: u32, normalized: u8, stride: i32, pointer: *const c_void) =
        |c| c.run_shared(|c, o| c.attribute_pointer(o, index, size, kind, normalized != 0, stride, address(pointer)));
    glViewport(x: i32, y: i32, width: i32, height: i32) = |c| c.run(|c| c.viewport(x, y, width, height));

    // `OES_vertex_array_object`.
    glBindVertexArrayOES(array: u32) = |c| c.run_shared(|c, o| c.bind_vertex_array(o, array));
    glDeleteVertexArraysOES(n: i32, names: *const u32) = |c| c.run_shared(|c, o| {
        listed(n, names)?.into_iter().for_each(|name| c.delete_vertex_array(o, name));
        Ok(())
    });
    glGenVertexArraysOES(n: i32, names: *mut u32) = |c| c.run(|c| generate(n, names, &mut c.vertex_arrays));
    glIsVertexArrayOES(name: u32) -> u8 = |c| c.run(|c| is(c.vertex_arrays.find(name)));
}
