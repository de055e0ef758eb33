//! Lines for people: from whatever thread of a server has something to say, over the control socket, to what the
//! client's program does with them.
//!
//! # Contract
//!
//! - [`Log::line`] never waits for the client: a queue of [`QUEUE`] lines that is full drops the line, and the next one
//!   that is sent says how many were dropped.
//! - A line of a server is a claim of a stranger: what is no printable character of it is replaced before it is shown.
//! - A [`Sink`] is called by the thread that reads the control socket, one of the client's.

use std::{
    collections::VecDeque,
    fmt,
    io::{self, Write},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::io::write;

use crate::control::message::{LogLevel, LogLine};

/// Lines that wait at most.
pub const QUEUE: usize = 256;

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<LogLine>,
    /// Dropped since the last line that was taken into the queue.
    dropped: u64,
}

/// Where a server writes lines for its client's log. Any thread may write; copies write to the same.
#[derive(Clone, Debug)]
pub struct Log {
    queue: Arc<Mutex<Queue>>,
    /// Readable when there are lines.
    bell: Arc<OwnedFd>,
    /// The least grave that the client wants; `None` wants none.
    wanted: Option<LogLevel>,
}

impl Log {
    pub(super) fn new(bell: Arc<OwnedFd>, wanted: Option<LogLevel>) -> Self {
        Self { queue: Arc::default(), bell, wanted }
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Queue> {
        // The queue is whole after every step.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client wants lines of a level.
    #[must_use]
    pub fn wants(&self, level: LogLevel) -> bool {
        self.wanted.is_some_and(|wanted| level <= wanted)
    }

    /// Writes a line, if it is wanted and there is room. `text` is made only then.
    pub fn line(&self, level: LogLevel, text: impl FnOnce() -> String) {
        if !self.wants(level) {
            return;
        }
        {
            let mut queue = self.queue();
            if queue.lines.len() >= QUEUE {
                queue.dropped += 1;
                return;
            }
        }
        let text = text();
        let mut queue = self.queue();
        let dropped = std::mem::take(&mut queue.dropped);
        queue.lines.push_back(LogLine::new(level, text, dropped));
        let first = queue.lines.len() == 1;
        drop(queue);
        if first {
            // An eventfd takes this write unless it was rung 2^64 times.
            let _ = write(&*self.bell, &1_u64.to_ne_bytes());
        }
    }

    /// The next line to send.
    pub(super) fn next(&self) -> Option<LogLine> {
        self.queue().lines.pop_front()
    }

    /// What is to be said of lines that were dropped after the last one in the queue.
    pub(super) fn last(&self) -> Option<LogLine> {
        let dropped = std::mem::take(&mut self.queue().dropped);
        (dropped != 0).then(|| LogLine::new(LogLevel::Warning, "the log ends here".to_owned(), dropped))
    }
}

impl LogLevel {
    /// Every level, the gravest first.
    pub const ALL: [Self; 4] = [Self::Error, Self::Warning, Self::Info, Self::Debug];

    /// The name, as variables and lines have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// What a client does with lines of the log. The default writes them to standard error, some of them a second.
#[derive(Clone, Default)]
pub struct Sink(Option<Arc<Hearer>>);

type Hearer = dyn Fn(LogLevel, &str) + Send + Sync;

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Sink(function)" } else { "Sink(standard error)" })
    }
}

impl Sink {
    /// Calls `hear` with each line. It must not use the client.
    pub fn new(hear: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hear)))
    }

    /// Takes a line.
    pub fn line(&self, level: LogLevel, text: &str) {
        let text = text.replace(char::is_control, "?");
        match &self.0 {
            Some(hear) => hear(level, &text),
            None => to_standard_error(level, &text),
        }
    }

    /// Takes a line of the server's.
    pub(super) fn server_line(&self, line: &LogLine) {
        if line.dropped != 0 {
            self.line(LogLevel::Warning, &format!("server: {} lines of its log were dropped", line.dropped));
        }
        self.line(line.level, &format!("server: {}", line.text));
    }
}

/// Lines a second that standard error gets at most.
const PACE: u32 = 64;

/// How many lines this second had, and how many were left out.
#[derive(Debug)]
struct Pace {
    since: Option<Instant>,
    lines: u32,
    left_out: u64,
}

impl Pace {
    /// Whether a line may be written now; before it, how many were left out.
    fn take(&mut self, now: Instant) -> Option<u64> {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= Duration::from_secs(1)) {
            (self.since, self.lines) = (Some(now), 0);
        }
        if self.lines == PACE {
            self.left_out += 1;
            return None;
        }
        self.lines += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

fn to_standard_error(level: LogLevel, text: &str) {
    static PACED: Mutex<Pace> = Mutex::new(Pace { since: None, lines: 0, left_out: 0 });
    let Some(left_out) = PACED.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now()) else {
        return;
    };
    let mut lines = String::new();
    if left_out != 0 {
        lines =
            format!("runahead: warning: {left_out} lines were left out here, more than {PACE} a second\n");
    }
    lines += &format!("runahead: {}: {text}\n", level.name());
    // With standard error closed there is nobody left to tell.
    let _ = io::stderr().write_all(lines.as_bytes());
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    fn log(wanted: Option<LogLevel>) -> Log {
        Log::new(Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap()), wanted)
    }

    #[test]
    fn a_full_queue_drops_and_counts() {
        let log = log(Some(LogLevel::Info));
        for number in 0..1000 {
            log.line(LogLevel::Info, || number.to_string());
        }
        for number in 0..QUEUE {
            assert_eq!(log.next(), Some(LogLine::new(LogLevel::Info, number.to_string(), 0)));
        }
        assert_eq!(log.next(), None);
        log.line(LogLevel::Error, || "next".to_owned());
        assert_eq!(log.next().map(|line| line.dropped), Some(1000 - QUEUE as u64));
        assert_eq!(log.last(), None);
        (0..=QUEUE).for_each(|_| log.line(LogLevel::Info, String::new));
        assert_eq!(log.last().map(|line| line.dropped), Some(1));
    }

    #[test]
    fn what_is_not_wanted_is_not_even_made() {
        for (wanted, levels) in [(None, 0), (Some(LogLevel::Error), 1), (Some(LogLevel::Debug), 4)] {
            let (log, mut made) = (log(wanted), 0);
            for level in LogLevel::ALL {
                log.line(level, || {
                    made += 1;
                    String::new()
                });
            }
            assert_eq!(made, levels, "{wanted:?}");
        }
    }

    #[test]
    fn standard_error_has_a_pace() {
        let mut pace = Pace { since: None, lines: 0, left_out: 0 };
        let start = Instant::now();
        let taken = (0..1000).filter(|_| pace.take(start).is_some()).count();
        assert_eq!(taken, PACE as usize);
        assert_eq!(pace.take(start + Duration::from_secs(1)), Some(1000 - u64::from(PACE)));
        assert_eq!(pace.take(start + Duration::from_secs(1)), Some(0));
    }

    #[test]
    fn a_line_cannot_steer_a_terminal() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&heard);
        let sink = Sink::new(move |level, text| keep.lock().unwrap().push((level, text.to_owned())));
        sink.server_line(&LogLine::new(LogLevel::Info, "a\n\u{1b}[2J".to_owned(), 2));
        let expected = [
            (LogLevel::Warning, "server: 2 lines of its log were dropped".to_owned()),
            (LogLevel::Info, "server: a??[2J".to_owned()),
        ];
        assert_eq!(*heard.lock().unwrap(), expected);
    }
}
