//! The server program of Runahead: it will apply one session's commands in a process of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Written, not printed: a closed standard error is no reason to panic.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        b"runahead-server: sessions are not implemented yet, so there is nothing to serve\n",
    );
    ExitCode::FAILURE
}
