//! The process that writes a recording: it has what the recorded program published, however that one ends.
//!
//! It is the server of a session that a [tap](super::tap) opens, reads as hostile what comes, and ends with the session:
//! an orderly end and a killed program are one to it. While it writes, it holds a lock on the file, so whoever wants the
//! whole file waits for the lock.

use std::{
    fs::File,
    io::{self, BufWriter, Seek, SeekFrom, Write},
    os::fd::OwnedFd,
    path::Path,
};

use runahead_rings::{CopyOut, Ringer, StageReader, WaitError, Watermark, WatermarkWriter, server};
use runahead_wire::values::BackendKind;

use super::{CaptureError, Writer, damaged, layout, note, part::Builder, staged};
use crate::session::{
    ServeError,
    dial::watch,
    server::{Accepted, accept, explain},
};

/// Bytes that are written at once.
const BUFFER: usize = 256 << 10;

/// Records after which room is given back.
const BATCH: u32 = 256;

/// Writes what a tap sends behind `offset` in a file that holds the beginning of a capture.
///
/// # Errors
/// Why the file is not whole; what could be written is there, and the tap was told.
pub fn write(socket: OwnedFd, file: &Path, offset: u64) -> Result<(), ServeError> {
    let told = |error: io::Error| ServeError::Recording(format!("{}: {error}", file.display()));
    let mut out = File::options().write(true).open(file).map_err(told)?;
    if out.metadata().map_err(told)?.is_file() {
        out.lock().map_err(told)?;
        out.seek(SeekFrom::Start(offset)).map_err(told)?;
    }
    let Accepted { mut halves, mut channel, client, door, .. } = accept(socket, BackendKind::Null)?;
    let (Some(rings), Some(ringer)) = (halves.rings.take(), halves.ringer.take()) else {
        return Err(ServeError::Setup("memory", "it was used before".to_owned()));
    };
    let setup = |error: io::Error| ServeError::Setup("watch", error.to_string());
    let _watch = watch(&channel, client.as_ref(), halves.waiter, &door, halves.memory()).map_err(setup)?;
    let server::Rings { commands, stage, marks, .. } = rings;
    let writer = Writer::resume(BufWriter::with_capacity(BUFFER, out), offset);
    let mut book = Book { commands, stage, marks, ringer, writer, part: Builder::default(), seen: 0 };
    book.part.reset(1, 0);
    let written = loop {
        if let Err(error) = book.drain(&door) {
            break Err(error);
        }
        match halves.waiter.wait(&door, 0, || book.commands.poll().map(|some| some.then_some(()))) {
            Ok(()) => {}
            // The program ended, in whatever way, and all that it published was read.
            Err(WaitError::Closed | WaitError::Dead) => break Ok(()),
            Err(WaitError::Failed(fault)) => break Err(CaptureError::Fault(fault)),
        }
    };
    // Also behind an error: what came before it is whole.
    let finished = book.finish();
    let ended = written.and(finished);
    ended.map_err(|error| {
        let error = ServeError::Recording(format!("{}: the recording stopped: {error}", file.display()));
        explain(&mut channel, &error);
        error
    })
}

struct Book {
    commands: CopyOut<'static>,
    stage: StageReader<'static>,
    marks: WatermarkWriter<'static>,
    ringer: Ringer<'static>,
    writer: Writer<BufWriter<File>>,
    part: Builder,
    /// Records that were read.
    seen: u64,
}

impl Book {
    /// Takes all that is published.
    fn drain(&mut self, door: &crate::session::Door) -> Result<(), CaptureError> {
        let mut batch = 0;
        while let Some(record) = self.commands.next().map_err(CaptureError::Fault)? {
            self.seen += 1;
            batch += 1;
            let op = layout::header(record).map_or(0, |head| head.op);
            match note::text(op, record) {
                Some(text) if op == note::FRAME => {
                    let time = text.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    self.part.nanoseconds = time;
                }
                Some(text) => match postcard::take_from_bytes(text) {
                    Ok((request, _)) => self.part.request(request),
                    Err(_) => return Err(damaged("Recording.request", self.seen)),
                },
                None => {
                    let Self { part, stage, .. } = self;
                    let copied = part.record(record, |blob, bulk| {
                        let bytes = staged(stage, blob)?;
                        bytes.copy_to(bulk.give(bytes.len()));
                        Some(())
                    });
                    copied.ok_or(damaged("Recording.stage", self.seen))?;
                    self.part.ends_frame = layout::ends_frame(op);
                }
            }
            if self.part.ends_frame || self.part.is_full() {
                self.writer.part(&mut self.part)?;
            }
            if batch == BATCH {
                batch = 0;
                self.marks.publish(Watermark::Retired, self.seen);
                self.ringer.ring(door);
            }
        }
        self.commands.release();
        self.marks.publish(Watermark::Retired, self.seen);
        self.ringer.ring(door);
        Ok(())
    }

    fn finish(mut self) -> Result<(), CaptureError> {
        if !self.part.is_empty() {
            self.writer.part(&mut self.part)?;
        }
        self.writer.finish()?.flush()?;
        Ok(())
    }
}
