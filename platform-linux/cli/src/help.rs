//! What `help` says.

use std::fmt::Write;

use runahead_linux::settings::VARIABLES;

use crate::arguments::MISSING;

/// What there is to say of `info`.
pub const INFO: &str = "\
usage: runahead info [--json]

Opens a session as the RUNAHEAD_* variables say, asks the server what it is and what it can do, prints that, and ends
the session. It tells whether client and server fit together and whether the settings take effect.

  --json   one JSON object on one line:
             topology      \"direct\", \"inproc\" or \"spawn\"
             server        where commands are applied: role \"caller\", \"thread\" or \"process\"; pid; tid of a thread
             backend       \"null\", \"gles\" or \"vulkan\"
             vendor, renderer
             gl_version, gles_version
                           the newest version that the server can back, as \"4.6\"
             mode          \"run-ahead\": the client goes on while the server works; \"lockstep\": it waits for the
                           server at each draw; \"direct\": there is nobody to run ahead of
             asked         what the settings ask of the server; null leaves it to the server:
                           run_ahead, credit (frames), command_ring_kb, stage_ring_kb
             protocol      revision of the control messages
             fingerprint   of the command layouts, as hexadecimal text; equal in client and server
             build         version and digest of the sources; equal in client and server

Exit status: 0 when a session was opened and ended, 1 when not (standard error says why), 2 for wrong arguments.
";

/// What there is to say of the program.
pub fn program() -> String {
    let mut text = String::from(
        "\
usage: runahead VERB [OPTION]

Runahead is a graphics driver cut in two: a client takes what a program asks of the GPU and writes it to memory, and a
server in another thread or another process carries it out. This program looks at that from the command line.

verbs:
  info [--json]   open a session, print what it is like, end it
  help [VERB]     this text, or what a verb takes
  --version       the version and build

not there yet:
",
    );
    for missing in &MISSING {
        line(&mut text, missing.name, missing.what);
    }
    text.push_str("\nsettings, from environment variables:\n");
    for variable in VARIABLES {
        let _ = writeln!(
            text,
            "  {}\n      {}\n      allowed: {}; default: {}",
            variable.name, variable.what, variable.allowed, variable.default
        );
    }
    text.push_str(
        "
example:
  RUNAHEAD_TOPOLOGY=inproc runahead info

Exit status: 0 when it was done, 1 when it was not, 2 for a command line that makes no sense or a verb that is not
there yet.
",
    );
    text
}

/// One verb; a string takes what is written to it.
fn line(text: &mut String, name: &str, what: &str) {
    let _ = writeln!(text, "  {name:<14}  {what}");
}
