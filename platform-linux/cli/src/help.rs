//! What `help` says.

use std::fmt::Write;

use runahead_linux::settings::VARIABLES;

use crate::arguments::{MISSING, ROUNDS};

/// What there is to say of `info`.
pub const INFO: &str = "\
usage: runahead info [--json] [--stats]

Opens a session as the RUNAHEAD_* variables say, asks the server what it is and what it can do, prints that, and ends
the session. It tells whether client and server fit together and whether the settings take effect.

  --stats  also what client and server counted until then: records, bytes, waits by their cause, sleeps. The variable
           RUNAHEAD_STATS prints the same at the end of any session.
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
             statistics    with --stats: client and server, each an object of counters by name; server is null where
                           there is none

Exit status: 0 when a session was opened and ended, 1 when not (standard error says why), 2 for wrong arguments.
";

/// What there is to say of `run`.
pub const RUN: &str = "\
usage: runahead run [OPTION] [--] PROGRAM [ARGUMENT]...

Starts a program that uses EGL so that it draws through Runahead, and waits for it. Its arguments are its own.

  --topology NAME  where its commands are applied (RUNAHEAD_TOPOLOGY):
                     spawn    in a process of their own (the default)
                     inproc   on a thread of the program
                     direct   in the program's own calls: what the others are measured against
  --backend NAME   what they are applied on (RUNAHEAD_BACKEND):
                     gles     the system's OpenGL ES driver (the default)
  --stats          when a session ends, print what it counted

The other settings are the variables that `runahead help` lists.

examples:
  runahead run es2gears_x11
  runahead run --topology inproc -- glmark2-es2 -b build

Exit status: the program's, or 128 plus the number of the signal that ended it; 127 when it was not found, 126 when it
could not be started.
";

/// What there is to say of `record`.
pub const RECORD: &str = "\
usage: runahead record [-o FILE] [OPTION] [--] PROGRAM [ARGUMENT]...

Starts a program as `runahead run` does, and records what it draws. `runahead replay` plays, lists and measures the
file, `runahead diff` compares two.

  -o FILE          the file (PROGRAM.rah without); where the program opens several sessions, or starts others, theirs
                   have a number before the extension
  --topology NAME  spawn (the default) or inproc; direct has no stream to record
  --backend NAME   as for `run`
  --stats          as for `run`

The file holds all that the program published, however it ends. A program that opens a session by itself, or is started
by others, is recorded with RUNAHEAD_RECORD=FILE in its environment.

example:
  runahead record -o gears.rah -- es2gears_x11

Exit status: as of `run`, but 1 where the program's is 0 and nothing was recorded.
";

/// What there is to say of `bench`.
pub fn bench() -> String {
    format!(
        "\
usage: runahead bench [--json] [--rounds N]

Measures what Runahead itself costs on this machine: the server draws nothing. Each figure is the median of N rounds
({ROUNDS} unless stated), and in each round every topology has its turn, so that ratios hold on a busy machine too.
Takes about a second a round. The RUNAHEAD_* variables apply, but for RUNAHEAD_TOPOLOGY: all three are measured.

  frame    milliseconds for a frame of 7,500 commands, 1,471 draws and 816 KB, client and server together
  overlap  frames a second of 3,550 draws that cost client and server 3 us each; a client that runs ahead doubles it
  answer   microseconds until the server has answered with one byte; asleep: it had gone to sleep before

  --json   one JSON object a line:
             bench         \"frame\", \"overlap\" or \"answer\"
             case          the topology, and what else was different
             value, unit   the figure
             against       the case that it is compared with; null where it is compared with none
             ratio         value by the value of that case; null without one
             goal, ok      always null and true: `./x bench` in the source tree holds figures against goals

Exit status: 0 when all was measured, 1 when not (standard error says why), 2 for wrong arguments.
"
    )
}
/// What there is to say of `replay`.
pub const REPLAY: &str = "\
usage: runahead replay FILE [OPTION]

Plays what `runahead record` recorded into a session, and says how long that took.

  --frames A..B    from frame A up to B, B left out; or one frame. Without: all, and what follows the last whole frame.
                   Of the frames before A, only what A needs is played
  --loop N         plays the frames N times; they must make and end no objects
  --verify         compares, before each draw, clear and read, the state that the program meant (it was recorded with
                   RUNAHEAD_VERIFY=1) with the one that the server holds
  --topology T     direct, inproc or spawn; without, as RUNAHEAD_TOPOLOGY says
  --backend B      gles, null, or trace=FILE: every call of the backend is written to that file, a line each;
                   without, what the file was recorded on

and at most one of:
  --list           the records of the frames, a line each; nothing is played
  --dump FRAME     the state behind that frame: what a draw would see, field by field, zeros left out
  --bench          milliseconds of each frame: percentiles are measured values (nearest rank), the first frame apart
    --rounds N     runs of it, each with a session of its own; 5 without
  --images FOLDER  a PNG for each frame, read back at its present
  --trim FILE      writes the frames (--frames) to a capture of their own. What they need of the frames before is in its
                   first one; objects that were gone by then are not, and the others have new numbers

  --json           data as one JSON object a line

Exit status: 0 when it was done, 1 when not (standard error says why), 2 for wrong arguments.
";

/// What there is to say of `diff`.
pub const DIFF: &str = "\
usage: runahead diff A B [--html FILE] [--json]

Compares two runs (two programs, backends, topologies, builds): two recorded files call by call, with the bulk bytes of
each; two listings of a backend's calls (`runahead replay --backend trace=FILE`) line by line; or two folders of images
(`runahead replay --images FOLDER`) byte by byte and by structural similarity.

  --html FILE   writes a page that shows the images side by side, those that differ first
  --json        one JSON object a line; the last has the numbers compared and different

Exit status: 0 when both are the same, 1 when they differ or nothing could be compared, 2 for wrong arguments.
";

/// What there is to say of the program.
pub fn program() -> String {
    let mut text = String::from(
        "\
usage: runahead VERB [OPTION]

Runahead is a graphics driver cut in two: a client takes what a program asks of the GPU and writes it to memory, and a
server in another thread or another process carries it out. This program looks at that from the command line.

verbs:
  run PROGRAM     start a GL program that draws through Runahead
  record PROGRAM  the same, and record what it draws to a file
  replay FILE     play a recorded file, measure it, or look into it
  diff A B        compare two recorded files, or two folders of images
  info [--json] [--stats]
                  open a session, print what it is like, end it
  bench [--json] [--rounds N]
                  measure what sessions cost on this machine, without drawing anything
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
  runahead run es2gears_x11

Exit status: 0 when it was done, 1 when it was not, 2 for a command line that makes no sense or a verb that is not
there yet; of `run`, the program's.
",
    );
    text
}

/// One verb; a string takes what is written to it.
fn line(text: &mut String, name: &str, what: &str) {
    let _ = writeln!(text, "  {name:<14}  {what}");
}
