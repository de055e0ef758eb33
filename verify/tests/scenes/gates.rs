//! Clean gates, seen from the driver's side: the exact calls of frames in which little or nothing changes.
//!
//! A gate that does not skip what it should shows as a call too many here; one that skips what it must not shows as a
//! wrong pixel in a scene.

use runahead_core::Session;
use runahead_linux::{
    control::message::{ContextAttributes, SurfaceOp},
    native::gles::{Driver, WindowSystem},
    session::{Client, Config, Topology},
};
use runahead_verify::scenes::{Compiler, SIDE, Stage, StageError, Written};
use runahead_watch::listed;
use runahead_wire::{
    Bulk, Handle,
    payload::{GlobalConstants, Present},
    values::{BackendKind, Topology as Primitives},
};

use crate::run::Told;

const VERTEX: &str = "
    attribute vec2 position;
    attribute vec2 coordinate;
    varying vec2 at;
    void main() { at = coordinate; gl_Position = vec4(position, 0.0, 1.0); }
";
const FRAGMENT: &str = "
    precision highp float;
    uniform vec4 tint;
    uniform vec4 shift;
    uniform sampler2D image;
    varying vec2 at;
    void main() { gl_FragColor = texture2D(image, at) * tint + shift; }
";

/// What a frame does, one after the other. Those with a number choose one of two objects or values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Clear,
    Draw,
    DrawIndexed,
    Program(usize),
    Buffer(usize),
    Texture(usize),
    Viewport(u8),
    Blend(u32),
    Target(usize),
    /// Gives one of the two uniforms a value that it did not have.
    Uniform(u32),
    /// Gives the second uniform the value that it has.
    Again,
    /// Writes the vertices anew, as they are.
    Write,
    Present,
}

/// What the steps use.
struct Objects {
    programs: [Handle; 2],
    buffers: [Handle; 2],
    textures: [Handle; 2],
    /// A texture to draw to.
    target: Handle,
    indices: Handle,
}

const LAYOUT: &[(u8, u8)] = &[(0, 2), (1, 2)];

impl Objects {
    fn new<P: Session>(stage: &mut Stage<'_, P>) -> Result<Self, StageError> {
        let attributes = &[("position", 0), ("coordinate", 1)];
        let program = |stage: &mut Stage<'_, P>| stage.program(VERTEX, FRAGMENT, attributes, &[]);
        let texture = |stage: &mut Stage<'_, P>, texel: u8| stage.texture(1, 1, Some(&[texel; 4]));
        Ok(Self {
            programs: [program(stage)?, program(stage)?],
            buffers: [stage.buffer(&[0; 64])?, stage.buffer(&[0; 64])?],
            textures: [texture(stage, 1)?, texture(stage, 2)?],
            target: stage.texture(SIDE, SIDE, None)?,
            indices: stage.buffer(&[0; 12])?,
        })
    }

    /// Does one step of a frame; `number` is not 0, and is another one for each frame.
    fn take<P: Session>(&self, stage: &mut Stage<'_, P>, step: Step, number: u64) -> Result<(), StageError> {
        match step {
            Step::Clear => stage.clear([0.0; 4]),
            Step::Draw => stage.draw(Primitives::Triangles, 0, 3),
            Step::DrawIndexed => stage.draw_indexed(Primitives::Triangles, self.indices, 6),
            Step::Program(at) => {
                let program = self.programs[at];
                stage.tracker().set_programs(program, program, Handle::NULL);
                Ok(())
            }
            Step::Buffer(at) => stage.vertices(self.buffers[at], LAYOUT),
            Step::Texture(at) => stage.sample(self.textures[at]),
            Step::Blend(on) => {
                for blend in &mut stage.tracker().render_state().blend {
                    blend.enabled = on;
                }
                Ok(())
            }
            Step::Viewport(width) => {
                stage.tracker().render_state().viewports[0].width = f32::from(width);
                Ok(())
            }
            Step::Target(at) => {
                stage.target([Handle::NULL, self.target][at]);
                Ok(())
            }
            Step::Uniform(at) => {
                let value = [number as f32; 4].map(f32::to_le_bytes);
                self.constants(stage, at * 16, value.as_flattened())
            }
            Step::Again => self.constants(stage, 16, &[0; 16]),
            Step::Write => {
                let pipe = stage.pipe();
                let piece = pipe.max_piece();
                Ok(runahead_core::upload::buffer(pipe, self.buffers[0], 0, &[0; 64], piece)?)
            }
            Step::Present => {
                Ok(stage.pipe().present(&Present { frame_serial: number, ..Present::default() }, &[])?)
            }
        }
    }

    fn constants<P: Session>(
        &self,
        stage: &mut Stage<'_, P>,
        offset: u32,
        bytes: &[u8],
    ) -> Result<(), StageError> {
        let constants =
            GlobalConstants { shader_cso: self.programs[0], offset, ..GlobalConstants::default() };
        Ok(stage.pipe().set_global_constants(&constants, Bulk::Bytes(bytes))?)
    }
}

/// The driver's calls in the fourth of equal frames.
fn calls(frame: &[Step]) -> Vec<String> {
    let config = Config { topology: Topology::Direct, ..Config::default() };
    let make = || runahead_watch::open(&WindowSystem::Surfaceless, Driver::System);
    let mut client = Client::open(&config, BackendKind::Gles, make, Told::default()).expect("a session");
    client.create_context(1, None, ContextAttributes::gles(2, 0)).expect("a context");
    let config = client.configs().iter().find(|config| config.pbuffer).expect("a config").id;
    client.surface(1, SurfaceOp::CreatePbuffer { config, width: SIDE, height: SIDE }).expect("a surface");
    let compiler = Compiler::new(&client.caps());
    let mut stage = Stage::new(client.pipe(), &compiler, Written::default(), (1, 1)).expect("a stage");
    let objects = Objects::new(&mut stage).expect("objects");
    let first = [Step::Program(0), Step::Buffer(0), Step::Texture(0), Step::Target(0), Step::Viewport(64)];
    for step in first {
        objects.take(&mut stage, step, 1).expect("a step");
    }
    let mut run = |number: u64| {
        for step in frame {
            objects.take(&mut stage, *step, number).expect("a step");
        }
    };
    (1..=3).for_each(&mut run);
    let ((), calls) = listed(|| run(4));
    client.close().expect("an orderly end");
    calls
}

/// Frames, and the calls that each takes once it is steady.
#[rustfmt::skip]
const FRAMES: &[(&[Step], &[&str])] = &[
    (&[Step::Clear, Step::Draw, Step::Draw, Step::Draw, Step::Present],
     &["glClear", "glDrawArrays", "glDrawArrays", "glDrawArrays", "glFlush"]),
    (&[Step::Uniform(0), Step::Draw, Step::Draw, Step::Uniform(1), Step::Draw],
     &["glUniform4fv", "glDrawArrays", "glDrawArrays", "glUniform4fv", "glDrawArrays"]),
    (&[Step::Again, Step::Draw, Step::Again, Step::Draw], &["glDrawArrays", "glDrawArrays"]),
    (&[Step::Texture(0), Step::Draw, Step::Texture(1), Step::Draw],
     &["glBindTexture", "glDrawArrays", "glBindTexture", "glDrawArrays"]),
    (&[Step::Program(0), Step::Draw, Step::Program(1), Step::Draw],
     &["glUseProgram", "glDrawArrays", "glUseProgram", "glDrawArrays"]),
    (&[Step::Viewport(8), Step::Draw, Step::Viewport(9), Step::Draw],
     &["glViewportArrayvOES", "glDrawArrays", "glViewportArrayvOES", "glDrawArrays"]),
    (&[Step::Blend(0), Step::Draw, Step::Blend(1), Step::Draw],
     &["glDisable", "glDrawArrays", "glEnable", "glDrawArrays"]),
    (&[Step::DrawIndexed, Step::Draw, Step::DrawIndexed],
     &["glDrawElements", "glDrawArrays", "glDrawElements"]),
    (&[Step::Write, Step::Draw, Step::Write, Step::Draw],
     &["glBufferSubData", "glDrawArrays", "glBufferSubData", "glDrawArrays"]),
];

#[test]
fn a_steady_frame_has_no_call_too_many() {
    for (frame, wanted) in FRAMES {
        assert_eq!(calls(frame), *wanted, "{frame:?}");
    }
}
