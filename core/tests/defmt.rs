//! Faults and errors print through `defmt`. The logger here is what makes a test with all features link.
#![cfg(all(feature = "defmt", not(runahead_loom)))]

use std::sync::atomic::{AtomicUsize, Ordering};

use runahead_core::{Fault, RecordError, applier::ContextError, caps::Update};

static BYTES: AtomicUsize = AtomicUsize::new(0);

#[defmt::global_logger]
struct Logger;

// SAFETY: one test, one thread; nothing is kept but a count.
unsafe impl defmt::Logger for Logger {
    fn acquire() {}
    unsafe fn flush() {}
    unsafe fn release() {}
    unsafe fn write(bytes: &[u8]) {
        BYTES.fetch_add(bytes.len(), Ordering::Relaxed);
    }
}

#[defmt::panic_handler]
fn panic() -> ! {
    panic!("defmt panicked")
}

defmt::timestamp!("");

#[test]
fn faults_and_errors_are_formatted() {
    let logged = |log: fn()| {
        let before = BYTES.load(Ordering::Relaxed);
        log();
        BYTES.load(Ordering::Relaxed) - before
    };
    let plain = logged(|| defmt::error!("no value"));
    assert!(plain > 0, "the logger is not asked");
    assert!(logged(|| defmt::error!("{}", Fault::PeerGone)) > 0);
    let long = logged(|| {
        let row = runahead_wire::pipe::Op::DrawVbo;
        defmt::error!("{}", Fault::Corrupt { row, field: "mode" });
    });
    assert!(long > plain + "DrawVbo".len(), "{long} bytes for a fault with its names");
    assert!(logged(|| defmt::error!("{}", RecordError::ReplyFull)) > 0);
    assert!(logged(|| defmt::error!("{} {}", ContextError::Token, Update::First)) > plain);
}
