//! The command line of Runahead: it will run, record, replay and compare programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Written, not printed: a closed standard error is no reason to panic.
    let _ = std::io::Write::write_all(
        &mut std::io::stderr(),
        b"runahead: no command is implemented yet; see README.md for what works today\n",
    );
    ExitCode::FAILURE
}
