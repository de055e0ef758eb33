//! An applier without rings: calls in, answers, events and backend calls kept for the test to look at.

use std::{collections::VecDeque, string::String, string::ToString, vec::Vec};

use runahead_core::{
    Applier, Fault, Outlet, Quota,
    trace::{Call, Listener, Method, Trace},
};
use runahead_rings::Status;
use runahead_wire::{
    BlobRef, Bulk, ReplySpace, Row, Sink, event,
    payload::{BindContext, ContextValues},
    pipe::Pipe,
};

use super::heap::Heap;

/// What a server sent.
#[derive(Debug, Default)]
pub struct Sent {
    /// Answers: offset of the reply space, status, bytes.
    pub answers: VecDeque<(u32, Status, Vec<u8>)>,
    /// Events, encoded.
    pub events: VecDeque<Vec<u64>>,
}

impl Sink for Sent {
    type Error = Fault;

    fn stage(&mut self, _: Bulk<'_>) -> Result<BlobRef, Fault> {
        unreachable!("no event has bulk bytes")
    }

    fn record<'r, R: Row<'r>>(&mut self, row: &R) -> Result<(), Fault> {
        let mut words = vec![0; row.encoded_len().expect("a whole event") / 8];
        let bytes = runahead_wire::zerocopy::IntoBytes::as_mut_bytes(words.as_mut_slice());
        assert!(row.encode(bytes));
        self.events.push_back(words);
        Ok(())
    }
}

/// The outlet of such an applier.
pub type Collect = event::Encoder<Sent>;

/// Bytes of reply space.
pub const REPLIES: u32 = 1 << 20;

/// An outlet of the test's own type, because only that may implement the trait.
#[derive(Debug, Default)]
pub struct Out(pub Collect);

macro_rules! forward {
    ($($name:ident($($arg:ident: $ty:ty),*);)+) => {
        impl event::Events for Out {
            type Error = Fault;
            $(fn $name(&mut self, $($arg: $ty),*) -> Result<(), Fault> { event::Events::$name(&mut self.0, $($arg),*) })+
        }
    };
}
use runahead_wire::payload::{
    BufferWriteback, ByteRange, CapsChanged, FenceSignaled, GlError, GpuWritten, RequestRefused,
    SurfaceChanged,
};
forward! {
    buffer_writeback(payload: &BufferWriteback, bytes: &[u8]);
    gpu_written(payload: &GpuWritten, ranges: &[ByteRange]);
    surface_changed(payload: &SurfaceChanged);
    gl_error(payload: &GlError, text: &[u8]);
    fence_signaled(payload: &FenceSignaled);
    refused(payload: &RequestRefused);
    caps_changed(payload: &CapsChanged);
}

impl Outlet for Out {
    fn check(&self, space: ReplySpace) -> Result<(), Fault> {
        let end = u64::from(space.offset) + 8 + u64::from(space.capacity);
        let corrupt = runahead_rings::Fault::Corrupt { place: "Reply", field: "Capacity" };
        if end <= u64::from(REPLIES) { Ok(()) } else { Err(Fault::Ring(corrupt)) }
    }

    fn answer_with(
        &mut self,
        space: ReplySpace,
        size: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<(), Fault> {
        self.check(space)?;
        let mut bytes = vec![0; size];
        let status = if fill(&mut bytes) { Status::Ok } else { Status::Error };
        self.0.0.answers.push_back((space.offset, status, bytes));
        Ok(())
    }

    fn answer(&mut self, space: ReplySpace, status: Status, bytes: &[u8]) -> Result<(), Fault> {
        self.check(space)?;
        assert!(bytes.len() <= space.capacity as usize, "an answer larger than its space");
        self.0.0.answers.push_back((space.offset, status, bytes.to_vec()));
        Ok(())
    }

    fn writeback_bytes(&self) -> usize {
        4096
    }
}

/// Keeps every call as a line, but for the releases.
#[derive(Debug, Default)]
pub struct Log {
    pub lines: Vec<String>,
    pub released: usize,
}

impl Listener for Log {
    fn call(&mut self, call: &Call<'_>) {
        if call.method == Method::Release {
            self.released += 1;
        } else {
            self.lines.push(call.to_string());
        }
    }
}

/// An applier that logs.
pub type Direct = Applier<Trace<Log>, Heap, Out>;

/// An applier with context 1 current on surface 7, and with context values.
pub fn applier() -> Direct {
    let mut applier = bare();
    applier.create_context(1, None).expect("a context");
    applier.create_surface(7).expect("a surface");
    let bind = BindContext { context: 1, draw_surface: 7, read_surface: 7 };
    applier.bind_context(&bind).expect("a known context");
    applier.set_context_values(&ContextValues::default()).expect("values");
    applier
}

/// An applier without a context.
pub fn bare() -> Direct {
    Applier::new(Trace::new(Log::default()), Out::default(), Quota::default(), 0)
}

/// Names of the backend's methods that were called, in order; the log is empty afterwards.
pub fn calls(applier: &mut Direct) -> Vec<String> {
    let lines = std::mem::take(&mut applier.backend_mut().listener.lines);
    lines.iter().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}
