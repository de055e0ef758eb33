//! Waiting on descriptors until an instant.

use std::{
    io,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, Timespec, poll},
    io::Errno,
};

/// Waits until one of `descriptors` has news; `false` when `deadline` came first. Signals do not end it.
pub fn wait(descriptors: &mut [PollFd<'_>], deadline: Option<Instant>) -> io::Result<bool> {
    loop {
        let left = deadline.map(|deadline| timespec(deadline.saturating_duration_since(Instant::now())));
        match poll(descriptors, left.as_ref()) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    // Half of what is possible is still longer than anybody waits.
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX).min(i64::MAX / 2);
    Timespec { tv_sec, tv_nsec: duration.subsec_nanos().into() }
}
