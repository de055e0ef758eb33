//! Starting a server from inside a program that knows nothing of it. The programs are this file's ignored tests,
//! each run as a process of its own, below an init of our own that adopts orphans.

mod common;

use std::{
    fs::{self, File},
    io::Read,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::{fs::PermissionsExt, process::CommandExt},
    },
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering},
    time::{Duration, Instant},
};

use common::{alone, descriptors, in_ms, process, role_arguments, soon, this_program};
use runahead_linux::{
    environment,
    spawn::{NAME, Server, SpawnError, Spawned, Stage},
};
use rustix::process::{
    Pid, PidfdFlags, WaitOptions, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper, wait,
};

/// A server that ends when its socket does.
fn obedient() -> Server {
    shell("read line <&3")
}

/// A server that runs a shell script, whose answers go to descriptor 3.
fn shell(script: &str) -> Server {
    Server::new().program("/bin/sh").argument("-c").argument(script)
}

/// What a server writes to its socket before it ends.
fn said(spawned: Spawned) -> String {
    let mut text = String::new();
    File::from(spawned.socket).read_to_string(&mut text).unwrap();
    assert!(spawned.process.wait(in_ms(2000)).unwrap());
    text
}

// ---- Processes around the programs -----------------------------------------------------------------------------

/// Environment variable that tells the init which program to run.
const ROLE: &str = "SPAWN_TEST_ROLE";

/// Runs an ignored test below an init of its own.
fn under_init(role: &str) -> Output {
    this_program("init_process").env(ROLE, role).output().unwrap()
}

fn passes_under_init(role: &str) {
    let output = under_init(role);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Adopts orphans and reaps whatever ends until nobody is left, as process 1 does.
#[test]
#[ignore = "a program of its own"]
#[allow(clippy::zombie_processes, reason = "it waits for everybody")]
fn init_process() {
    set_child_subreaper(Some(getpid())).unwrap();
    let program = this_program(&std::env::var(ROLE).unwrap()).spawn().unwrap();
    let mut passed = None;
    while let Ok(Some((ended, status))) = wait(WaitOptions::empty()) {
        if ended == Pid::from_child(&program) {
            passed = Some(status.exit_status() == Some(0));
        }
    }
    assert_eq!(passed, Some(true), "the program failed");
}

static SIGCHLDS: AtomicU32 = AtomicU32::new(0);

extern "C" fn count_sigchld(_: i32) {
    SIGCHLDS.fetch_add(1, Ordering::Relaxed);
}

fn handle(signal: i32, handler: extern "C" fn(i32)) {
    // SAFETY: the handlers of this file do nothing but store into atomics.
    let before = unsafe { libc::signal(signal, handler as *const () as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
}

/// Whether a wait for any child, of a kind, finds one; also one that still lives.
fn has_child(kinds: i32) -> bool {
    // SAFETY: a plain call; the status is not asked for.
    unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG | kinds) != -1 }
}

/// Everything by which a program meets a process that `end` ends.
fn meetings(number: u32, end: impl FnOnce()) -> Vec<&'static str> {
    let mut met = Vec::new();
    let mut note = |is_so: bool, what| met.extend(is_so.then_some(what));
    note(has_child(0), "waitpid(-1) meets it while it lives");
    note(process(number).is_none_or(|(_, parent)| parent == std::process::id()), "it is a child");
    end();
    note(!soon(|| process(number).is_none_or(|(state, _)| state == 'Z')), "it does not end");
    // A signal or a zombie would come with its end, or just behind.
    std::thread::sleep(Duration::from_millis(20));
    note(SIGCHLDS.load(Ordering::Relaxed) != 0, "SIGCHLD came");
    note(has_child(0), "waitpid(-1) meets it when it ended");
    note(!soon(|| process(number).is_none()), "a zombie is left");
    met
}

// ---- The program never meets the server ------------------------------------------------------------------------

#[test]
fn a_program_never_meets_the_server() {
    passes_under_init("program_that_waits_for_any_child");
}

#[test]
#[ignore = "a program of its own, with no other children"]
fn program_that_waits_for_any_child() {
    handle(libc::SIGCHLD, count_sigchld);
    for _ in 0..5 {
        let spawned = obedient().start().unwrap();
        let number = spawned.process.number();
        assert!(
            !has_child(libc::__WALL),
            "even a wait for all kinds finds nothing left of the process in between"
        );
        let met = meetings(number, || {
            spawned.process.kill().unwrap();
            assert!(spawned.process.wait(in_ms(1000)).unwrap());
        });
        assert_eq!(met, Vec::<&str>::new());
        // By its socket's end, too.
        let Spawned { socket, process } = obedient().start().unwrap();
        let met = meetings(process.number(), || {
            drop(socket);
            assert!(process.wait(in_ms(1000)).unwrap());
        });
        assert_eq!(met, Vec::<&str>::new());
    }
}

/// The control: an ordinary child is met in every way, so the test above can fail.
#[test]
fn a_program_meets_an_ordinary_child() {
    passes_under_init("program_with_an_ordinary_child");
}

#[test]
#[ignore = "a program of its own, with no other children"]
#[allow(clippy::zombie_processes, reason = "waits of its own meet it")]
fn program_with_an_ordinary_child() {
    handle(libc::SIGCHLD, count_sigchld);
    let child = Command::new("/bin/sleep").arg("60").spawn().unwrap();
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    let met = meetings(child.id(), || pidfd_send_signal(&pidfd, rustix::process::Signal::KILL).unwrap());
    assert_eq!(met[..3], ["waitpid(-1) meets it while it lives", "it is a child", "SIGCHLD came"]);
    assert_eq!(met[3..], ["waitpid(-1) meets it when it ended"], "which reaped it");
}

/// Why there is a process in between: `execve` makes the exit signal `SIGCHLD`, whatever the clone said.
#[test]
fn no_exit_signal_does_not_outlive_execve() {
    passes_under_init("program_that_clones_without_a_signal");
}

extern "C" fn sleep_by_exec(_: *mut std::ffi::c_void) -> i32 {
    let arguments = [c"sleep".as_ptr(), c"60".as_ptr(), std::ptr::null()];
    // SAFETY: NUL-terminated texts in a NULL-terminated list.
    unsafe { libc::execv(c"/bin/sleep".as_ptr(), arguments.as_ptr()) };
    127
}

#[test]
#[ignore = "a program of its own, with no other children"]
fn program_that_clones_without_a_signal() {
    let mut stack = vec![0_u128; 4096];
    let mut pidfd = -1;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;
    let top = stack.as_mut_ptr_range().end.cast();
    // SAFETY: `sleep_by_exec` calls the kernel alone, on a stack of its own, while this thread stands still.
    let number = unsafe { libc::clone(sleep_by_exec, top, flags, std::ptr::null_mut(), &raw mut pidfd) };
    assert!(number > 0);
    // SAFETY: the clone made it for us.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    assert!(has_child(0), "execve keeps the exit signal nowadays: one process less is needed");
    pidfd_send_signal(&pidfd, rustix::process::Signal::KILL).unwrap();
}

/// The one kind of program that meets it, as it meets every orphan: then we reap.
#[test]
fn a_subreaper_is_left_no_zombie() {
    passes_under_init("program_that_adopts_orphans");
}

#[test]
#[ignore = "a program of its own, with no other children"]
fn program_that_adopts_orphans() {
    set_child_subreaper(Some(getpid())).unwrap();
    let spawned = obedient().start().unwrap();
    assert_eq!(process(spawned.process.number()).unwrap().1, std::process::id());
    let ended = spawned.process.number();
    spawned.process.kill().unwrap();
    assert!(spawned.process.wait(in_ms(1000)).unwrap());
    assert_eq!(process(ended), None, "it was not reaped");
    spawned.process.kill().expect("what is no more can be killed again");
    // Also when nobody waits for it, but it ended before its handle does.
    let Spawned { socket, process: handle } = obedient().start().unwrap();
    drop(socket);
    assert!(soon(|| process(handle.number()).unwrap().0 == 'Z'));
    let ended = handle.number();
    drop(handle);
    assert_eq!(process(ended), None, "it was not reaped");
}

// ---- A program with threads, handlers and signals under way ----------------------------------------------------

static PROGRAM: AtomicI32 = AtomicI32::new(0);
static FOREIGN: AtomicU32 = AtomicU32::new(0);
static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn note_process(_: i32) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: a plain call.
    if unsafe { libc::getpid() } != PROGRAM.load(Ordering::Relaxed) {
        FOREIGN.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_busy_program_can_start_servers() {
    passes_under_init("program_in_a_storm");
}

#[test]
#[ignore = "a program of its own, which signals its process group"]
fn program_in_a_storm() {
    rustix::process::setsid().unwrap();
    PROGRAM.store(std::process::id() as i32, Ordering::Relaxed);
    handle(libc::SIGUSR1, note_process);
    let over = AtomicBool::new(false);
    // Also when the test fails.
    let last = Instant::now() + Duration::from_secs(20);
    let goes_on = || !over.load(Ordering::Relaxed) && Instant::now() < last;
    std::thread::scope(|scope| {
        // What is sent to the group reaches our processes too, for as long as they are in it.
        scope.spawn(|| {
            while goes_on() {
                // SAFETY: a plain call; the group is this session's own.
                unsafe { libc::kill(0, libc::SIGUSR1) };
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let mut kept = Vec::new();
                while goes_on() {
                    kept.push(vec![0_u8; 1000 + kept.len()]);
                    kept.truncate(50);
                }
            });
        }
        let mut before = Vec::new();
        for round in 0..60 {
            let started = shell("echo alive >&3").start().expect("a server");
            assert_eq!(said(started), "alive\n", "round {round}");
            if round == 0 {
                before = descriptors();
            }
        }
        over.store(true, Ordering::Relaxed);
        assert_eq!(descriptors(), before);
    });
    assert!(HANDLED.load(Ordering::Relaxed) > 1000, "no storm");
    assert_eq!(FOREIGN.load(Ordering::Relaxed), 0, "a handler of the program's ran in another process");
}

// ---- What the server has ---------------------------------------------------------------------------------------

/// What each descriptor of a server is that does nothing.
fn descriptors_of(spawned: &Spawned) -> Vec<(i32, String)> {
    let folder = format!("/proc/{}/fd", spawned.process.number());
    let list = || {
        let numbers =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut list: Vec<(i32, String)> = numbers
            .filter_map(|number| {
                let target = fs::read_link(format!("{folder}/{number}")).ok()?;
                Some((number.parse().unwrap(), target.to_str().unwrap().to_owned()))
            })
            .collect();
        list.sort_unstable();
        list
    };
    // Its dynamic linker opens some while it starts.
    soon(|| list().len() == 4);
    list()
}

fn idle() -> Server {
    Server::new().program("/bin/sleep").argument("60")
}

#[test]
fn the_server_has_four_descriptors() {
    let _alone = alone();
    // Some that other code forgot to mark.
    let leaky: Vec<OwnedFd> = (0..40).map(|_| rustix::io::dup(std::io::stderr()).unwrap()).collect();
    let spawned = idle().start().unwrap();
    let found = descriptors_of(&spawned);
    spawned.process.kill().unwrap();
    let errors = fs::read_link("/proc/self/fd/2").unwrap().to_str().unwrap().to_owned();
    let null = || "/dev/null".to_owned();
    assert_eq!(found[..3], [(0, null()), (1, null()), (2, errors)]);
    assert!(found.len() == 4 && found[3].0 == 3 && found[3].1.starts_with("socket:["), "{found:?}");
    drop(leaky);
}

#[test]
fn a_program_may_have_closed_its_standard_streams() {
    passes_under_init("program_without_standard_streams");
}

#[test]
#[ignore = "a program of its own, which closes its streams"]
fn program_without_standard_streams() {
    let target = |number: i32| fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
    let streams: Vec<OwnedFd> = [0, 1, 2]
        .map(|number| {
            // SAFETY: open at the start of a program.
            let stream = unsafe { BorrowedFd::borrow_raw(number) };
            rustix::io::fcntl_dupfd_cloexec(stream, 50).unwrap()
        })
        .into();
    let errors = target(2).to_str().unwrap().to_owned();
    // Every choice of closed streams.
    for closed in 1..8_u32 {
        let closes = |number: &i32| closed & 1 << number != 0;
        for number in (0..3).filter(closes) {
            // SAFETY: nothing in this process relies on it meanwhile.
            unsafe { libc::close(number) };
        }
        let spawned = idle().start().unwrap();
        let took = spawned.socket.as_raw_fd() <= 2;
        let found = descriptors_of(&spawned);
        let Spawned { socket, process } = spawned;
        process.kill().unwrap();
        drop(socket);
        for number in (0..3).filter(closes) {
            // SAFETY: what had the number was closed.
            assert_eq!(unsafe { libc::dup2(streams[number as usize].as_raw_fd(), number) }, number);
        }
        assert!(took, "this test wants a socket where a stream was");
        let null = || "/dev/null".to_owned();
        let third = if closes(&2) { null() } else { errors.clone() };
        assert_eq!(found[..3], [(0, null()), (1, null()), (2, third)], "{closed:03b}");
        assert!(found.len() == 4 && found[3].0 == 3 && found[3].1.starts_with("socket:["), "{found:?}");
    }
}

#[test]
fn the_server_has_no_signals_of_the_programs() {
    passes_under_init("program_with_signals_put_away");
}

#[test]
#[ignore = "a program of its own, with signals blocked and ignored"]
fn program_with_signals_put_away() {
    handle(libc::SIGTERM, note_process);
    // SAFETY: sets a disposition that has no handler.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    // SAFETY: an empty set is all zeroes.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    for signal in [libc::SIGUSR1, libc::SIGINT, libc::SIGRTMAX()] {
        // SAFETY: a valid set and signal.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: a valid set.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    let masks = |status: &str| -> Vec<String> {
        status
            .lines()
            .filter(|line| ["SigBlk", "SigIgn", "SigCgt"].iter().any(|mask| line.starts_with(mask)))
            .map(String::from)
            .collect()
    };
    let before = masks(&fs::read_to_string("/proc/thread-self/status").unwrap());
    let text =
        said(shell("while read -r line; do echo \"$line\"; done < /proc/$$/status >&3").start().unwrap());
    for mask in ["SigPnd", "ShdPnd", "SigBlk", "SigIgn"] {
        let line = text.lines().find_map(|line| line.strip_prefix(mask)?.strip_prefix(":\t")).unwrap();
        // 32 and 33 are the C library's own; its `posix_spawn` leaves them ignored, and it uses them all the same.
        assert_eq!(u64::from_str_radix(line, 16).unwrap() & !(3 << 31), 0, "{mask} in {text}");
    }
    // The program's own are as they were.
    let after = masks(&fs::read_to_string("/proc/thread-self/status").unwrap());
    assert_eq!(after, before);
    assert!(before.iter().any(|line| line.starts_with("SigBlk") && !line.ends_with("0000000000000000")));
}

#[test]
fn the_server_has_a_session_and_a_name() {
    let _alone = alone();
    let spawned = shell("read -r stat < /proc/$$/stat; echo $0 ${stat##*)} >&3").start().unwrap();
    let number = spawned.process.number().to_string();
    let text = said(spawned);
    let fields: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(fields[0], NAME, "argv[0]");
    // State, parent, group, session.
    assert_eq!(fields[3..5], [&number, &number], "{text}");
}

#[test]
fn the_environment_is_scrubbed() {
    let output = this_program("program_with_an_environment")
        .env("RUNAHEAD_TRANSPORT", "spawn")
        .env("RUNAHEAD_", "x")
        .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/x/50_runahead.json")
        .env("__EGL_VENDOR_LIBRARY_DIRS", "/x")
        .env("__GLX_VENDOR_LIBRARY_NAME", "runahead")
        .env("__GLX_FORCE_VENDOR_LIBRARY_0", "runahead")
        .env("MY_RUNAHEAD_NOTE", "kept")
        .env("DISPLAY", ":77")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a program of its own, with an environment of its own"]
fn program_with_an_environment() {
    let text = said(Server::new().program("/bin/sh").argument("-c").argument("env >&3").start().unwrap());
    for gone in ["RUNAHEAD_TRANSPORT", "RUNAHEAD_=", "__EGL_VENDOR", "__GLX_VENDOR", "__GLX_FORCE"] {
        assert!(!text.lines().any(|line| line.starts_with(gone)), "{gone} is in {text}");
    }
    for kept in ["MY_RUNAHEAD_NOTE=kept", "DISPLAY=:77"] {
        assert!(text.lines().any(|line| line == kept), "{kept} is not in {text}");
    }
}

/// What a server does that somebody else started.
#[test]
fn a_process_can_clean_itself() {
    let output = this_program("program_that_cleans_itself")
        .env("RUNAHEAD_TRANSPORT", "spawn")
        .env("__EGL_VENDOR_LIBRARY_FILENAMES", "/x/50_runahead.json")
        .env("LD_AUDIT_NOT", "libEGL_runahead.so")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a program of its own, with one thread"]
fn program_that_cleans_itself() {
    let kept = || -> Vec<_> {
        let ours = |name: &str| name.starts_with("RUNAHEAD_") || name.starts_with("__EGL_VENDOR");
        std::env::vars_os().filter(|(name, _)| !ours(name.to_str().unwrap())).collect()
    };
    let before = kept();
    // SAFETY: with one test thread the harness runs this test on the main thread, and has no other.
    unsafe { environment::clean_this_process() };
    assert_eq!(std::env::vars_os().collect::<Vec<_>>(), before);
    assert!(before.iter().any(|(name, _)| name == "LD_AUDIT_NOT"));
}

#[test]
fn only_our_libraries_leave_a_preload() {
    let kept = |name: &str, value: &str| {
        environment::for_server(name.as_ref(), value.as_ref()).map(|kept| kept.into_string().unwrap())
    };
    let some = |value: &str| Some(value.to_owned());
    assert_eq!(kept("LD_PRELOAD", "/opt/lib/libEGL_runahead.so.0"), None);
    assert_eq!(
        kept("LD_PRELOAD", "/a/libmalloc.so:/b/librunahead_shim.so libother.so"),
        some("/a/libmalloc.so:libother.so")
    );
    assert_eq!(kept("LD_AUDIT", "libEGL_runahead.so"), None);
    assert_eq!(kept("LD_PRELOAD", "/runahead/libEGL_mesa.so.0"), some("/runahead/libEGL_mesa.so.0"));
    assert_eq!(kept("LD_LIBRARY_PATH", "/opt/librunahead"), some("/opt/librunahead"));
    assert_eq!(kept("PATH", "/a: b"), some("/a: b"));
}

#[test]
fn a_server_starts_no_server() {
    let _alone = alone();
    // This test program as the server: argv[0] is the spawner's choice, so no variable is needed, or can help.
    let arguments = role_arguments("server_that_dials");
    let server = arguments
        .into_iter()
        .fold(Server::new().program(std::env::current_exe().unwrap()), |server, argument| {
            server.argument(argument)
        });
    let text = said(server.start().unwrap());
    assert_eq!(
        text,
        "this process is a runahead-server, and a server starts no server: its driver must be the system's own"
    );
    // The control: not in a server, it starts.
    let output = this_program("program_that_dials").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // By whatever path it was started.
    let output =
        this_program("program_that_dials").arg0("/usr/lib/runahead/runahead-server").output().unwrap();
    assert!(!output.status.success());
}

#[test]
#[ignore = "a server, started by a_server_starts_no_server"]
fn server_that_dials() {
    // SAFETY: the spawner gave it to this process; nothing else uses it.
    let mut socket = File::from(unsafe { OwnedFd::from_raw_fd(3) });
    let result = obedient().start().map_or_else(|error| error.to_string(), |_| "started".into());
    std::io::Write::write_all(&mut socket, result.as_bytes()).unwrap();
}

#[test]
#[ignore = "a program of its own"]
fn program_that_dials() {
    said(shell("echo x >&3").start().unwrap());
}

// ---- What can go wrong -----------------------------------------------------------------------------------------

#[test]
fn a_program_that_cannot_be_executed_is_named() {
    passes_under_init("program_with_bad_servers");
}

#[test]
#[ignore = "a program of its own, with no other children"]
fn program_with_bad_servers() {
    // So that whatever is left behind becomes a child of this program, which reaps nothing.
    set_child_subreaper(Some(getpid())).unwrap();
    handle(libc::SIGCHLD, count_sigchld);
    let path = std::env::temp_dir().join(format!("runahead-spawn-test-{}", std::process::id()));
    fs::write(&path, "neither a program nor a script").unwrap();
    let start = || Server::new().program(&path).start();
    let before = descriptors();
    for (mode, errno, words) in
        [(0o644, libc::EACCES, "Permission denied"), (0o755, libc::ENOEXEC, "Exec format error")]
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for _ in 0..10 {
            match start() {
                Err(SpawnError::Exec { stage: Stage::Executing, error, .. }) => {
                    assert_eq!(error.raw_os_error(), Some(errno));
                }
                other => panic!("{other:?}"),
            }
        }
        let expected = format!(
            "the server {} could not be started: it cannot be executed: {words} (os error {errno})",
            path.display()
        );
        assert_eq!(start().unwrap_err().to_string(), expected);
    }
    fs::remove_file(&path).unwrap();
    match start() {
        Err(SpawnError::NotFound { looked }) => assert_eq!(looked, [path]),
        other => panic!("{other:?}"),
    }
    assert!(matches!(shell("nul\0").start(), Err(SpawnError::Nul)));
    assert_eq!(descriptors(), before);
    assert_eq!(SIGCHLDS.load(Ordering::Relaxed), 0);
    assert!(!has_child(libc::__WALL), "a process is left");
}

#[test]
fn where_it_looked_is_said() {
    let error = Server::new().start().unwrap_err();
    let beside = std::env::current_exe().unwrap().with_file_name(NAME);
    assert_eq!(
        error.to_string(),
        format!(
            "runahead-server was not found; install it next to the Runahead library or state its path (looked for {})",
            beside.display()
        )
    );
}

#[test]
fn no_descriptor_left_is_an_error_and_no_leak() {
    passes_under_init("program_with_a_full_table");
}

#[test]
#[ignore = "a program of its own, with its own limit"]
fn program_with_a_full_table() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let highest = *descriptors().last().unwrap() as u64;
    setrlimit(Resource::Nofile, Rlimit { current: Some(highest + 12), maximum }).unwrap();
    let open = || std::iter::from_fn(|| rustix::io::dup(std::io::stderr()).ok()).collect::<Vec<_>>();
    let mut started = 0;
    for room in 0..12 {
        let mut others = open();
        others.truncate(others.len() - room);
        match shell("echo x >&3").start() {
            Ok(spawned) => {
                assert_eq!(said(spawned), "x\n");
                started += 1;
            }
            Err(SpawnError::Setup { .. } | SpawnError::Exec { stage: Stage::Clone, .. }) => {}
            Err(error) => panic!("{error}"),
        }
        assert_eq!(open().len(), room, "descriptors leaked with room for {room}");
    }
    assert!((1..12).contains(&started), "{started} of 12 started");
    assert!(!has_child(libc::__WALL), "a process is left");
}

// ---- Its end ---------------------------------------------------------------------------------------------------

#[test]
fn a_killed_program_takes_its_server_along() {
    let _alone = alone();
    let mut program: Child = this_program("program_that_is_killed").stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    let number: i32 = loop {
        let mut byte = [0];
        assert_eq!(program.stdout.as_mut().unwrap().read(&mut byte).unwrap(), 1, "{text}");
        text.push(char::from(byte[0]));
        if let Some(rest) = text.split("server: ").nth(1)
            && let Some(number) = rest.strip_suffix('\n')
        {
            break number.parse().unwrap();
        }
    };
    let server = pidfd_open(Pid::from_raw(number).unwrap(), PidfdFlags::empty()).unwrap();
    let begin = Instant::now();
    program.kill().unwrap();
    program.wait().unwrap();
    let mut wait = [rustix::event::PollFd::new(&server, rustix::event::PollFlags::IN)];
    let second = rustix::event::Timespec { tv_sec: 2, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut wait, Some(&second)), Ok(1), "the server goes on");
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
}

#[test]
#[ignore = "a program of its own, which is killed"]
fn program_that_is_killed() {
    // On a thread that ends: nothing may depend on it.
    let spawned = std::thread::spawn(|| obedient().start().unwrap()).join().unwrap();
    assert!(!spawned.process.wait(in_ms(50)).unwrap(), "the server ended with the thread that started it");
    let line = format!("server: {}\n", spawned.process.number());
    std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(20));
}

#[test]
fn a_process_is_waited_for_no_longer_than_asked() {
    let _alone = alone();
    let spawned = obedient().start().unwrap();
    let begin = Instant::now();
    assert!(!spawned.process.wait(in_ms(30)).unwrap());
    assert!(begin.elapsed() >= Duration::from_millis(30));
    spawned.process.kill().unwrap();
    assert!(spawned.process.wait(None).unwrap());
    assert!(spawned.process.as_fd().as_raw_fd() > 2);
}
