//! The shader front: GLSL in, SPIR-V by the [binding model](runahead_wire::binding) and a
//! [reflection archive](runahead_wire::archive) out.
//!
//! A source is compiled in the version that it declares and is never rewritten. Compiling ends in a module of one
//! stage, without what its `main` cannot reach; linking matches the stages and gives every variable that crosses a
//! stage or the program's edge its location. Both are pure functions of their arguments, callable from any thread.
//!
//! # Hostile source
//! Whatever the source, a call answers with an info log and does nothing else: no panic, no output, no file read, no
//! more memory or stack than bounds allow. Bounds are named in the log that a source gets which exceeds one.
//!
//! # Uniforms
//! Loose uniforms that `main` can reach and whose value can matter are active. Their order in the archive is that of
//! their first use, the vertex stage first. A location is a variable's own, elements of arrays and leaves of structs
//! consecutive, and counts what is declared: that an array is not used to its end moves nothing. The image is the
//! std140 block of the variables in that order, also counting what is declared. An array's size in the archive ends at
//! the last element used; a structure has all of its members or none. `gl_DepthRange` is three uniforms of that name, which the front fills in and hides.
//!
//! # What is not there yet
//! Refused by name: uniform and storage blocks, initial values of uniforms, and servers that take loose uniforms in a
//! block. A loose uniform of truth values stays one in SPIR-V, which its validator refuses and no server of ours minds.
//! `gl_FragCoord` has medium precision in ES 1.00 and high precision behind SPIR-V, which shows as a last bit where a
//! driver computes with half floats.
//!
//! Source: OpenGL ES 2.0 section 2.10, OpenGL ES Shading Language 1.00 sections 4.3 to 4.6 and appendix A.

mod active;
mod environment;
mod glslang;
mod interface;
mod layout;
mod link;
mod log;
mod pack;
mod source;
mod spirv;
mod types;

use std::sync::Arc;

pub use environment::{EXTENSIONS, Environment, Limits};
pub use link::{Linked, link};

/// A stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Vertex stage.
    Vertex,
    /// Fragment stage.
    Fragment,
}

impl Stage {
    /// The stages, in the order of [`StageMask`](runahead_wire::values::StageMask).
    const ALL: [Self; 2] = [Self::Vertex, Self::Fragment];

    /// Its place in [`Linked::modules`] and in [`StageMask`](runahead_wire::values::StageMask).
    const fn index(self) -> usize {
        match self {
            Self::Vertex => 0,
            Self::Fragment => 4,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Vertex => "vertex",
            Self::Fragment => "fragment",
        }
    }
}

/// A compiled shader. Cheap to clone; nothing in it changes.
#[derive(Clone, Debug)]
pub struct Compiled {
    stage: Stage,
    log: Arc<str>,
    /// The module and what crosses its edges, or what is wrong with the stage once it is linked.
    unit: Arc<Result<interface::Unit, String>>,
}

impl Compiled {
    /// Its stage.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// The info log of the compilation: warnings.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.log
    }
}

/// Stack of a compilation. The compiler recurses over expressions as deep as the [source bounds](self) allow.
const STACK_BYTES: usize = 256 << 20;

/// Compiles a shader.
///
/// # Errors
/// The info log: a line `LINE: error: …` for each thing wrong.
pub fn compile(stage: Stage, source: &str, environment: &Environment) -> Result<Compiled, String> {
    let job = || {
        source::check(source)?;
        let preamble = source::preamble(environment);
        let review = |text: &str| source::review(text, environment);
        let source = source::without_unnamed(source, environment);
        glslang::compile(stage, &source, &preamble, environment, review)
    };
    // A thread of its own has a stack of known size, and leaves none of the compiler's thread-local memory behind.
    let output = std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("shader compiler".into()).stack_size(STACK_BYTES);
        match worker.spawn_scoped(scope, job) {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("error: the shader compiler failed".into())),
            Err(error) => Err(format!("error: the shader compiler cannot get a thread: {error}")),
        }
    })
    .map_err(|log| log::clean(&log))?;
    let unit =
        output.module.map_err(|log| log::clean(&log)).and_then(|words| interface::Unit::read(stage, &words));
    if let Ok(unit) = &unit {
        unit.check_version(environment)?;
    }
    Ok(Compiled { stage, log: log::clean(&output.log).into(), unit: Arc::new(unit) })
}

/// Makes the compiler ready for shaders of the usual version, which otherwise the first compilation pays for
/// (40 to 170 ms a version and stage). For a thread that nobody waits for.
pub fn warm_up(environment: &Environment) {
    for stage in Stage::ALL {
        // What comes of it is of no interest.
        drop(compile(stage, "void main(){}", environment));
    }
}
