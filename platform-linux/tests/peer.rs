//! Deaths as the kernel tells them: by each source alone, by neither, and what is no death.

mod common;

use std::{
    fs,
    io::Write,
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Command},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, channel},
    },
    time::{Duration, Instant},
};

use common::{alone, descriptors, in_ms, soon};
use runahead_linux::{
    control::channel::{Channel, ChannelError, ClientChannel, ServerChannel, Until},
    control::message::{Bye, ClientMessage},
    doorbell::FutexDoorbell,
    peer::{Death, Seen, Sources, Watch, look, process_of},
    segment::{OwnedSegment, map_peer},
    spawn::{Server, Spawned},
};
use runahead_rings::{ClientPage, Liveness, Page, ServerPage, Start, WaitError, client, create, open};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How soon a death is to be known.
const SOON: Duration = Duration::from_millis(100);

/// How long to see that nothing is noticed.
const LONG: Duration = Duration::from_millis(300);

fn sleeper() -> Spawned {
    Server::new().program("/bin/sleep").argument("60").start().unwrap()
}

fn copy(descriptor: impl AsFd) -> OwnedFd {
    descriptor.as_fd().try_clone_to_owned().unwrap()
}

/// A watch that tells what it notices.
fn watch(socket: Option<OwnedFd>, process: Option<OwnedFd>) -> (Watch, Receiver<Death>) {
    let (tell, told) = channel();
    let watch = Watch::spawn(Sources { socket, process }, move |death| tell.send(death).unwrap()).unwrap();
    // So that what is measured is noticing, and not the start of a thread.
    assert_eq!(told.recv_timeout(Duration::from_millis(20)), Err(RecvTimeoutError::Timeout));
    (watch, told)
}

#[track_caller]
fn noticed(told: &Receiver<Death>, expected: &[Death]) {
    let begin = Instant::now();
    let death = told.recv_timeout(Duration::from_secs(2)).unwrap();
    assert!(expected.contains(&death), "{death:?}");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
}

/// A process that dies hangs up first and has ended just behind; both are so when both are watched.
const EITHER: &[Death] = &[Death::HungUp, Death::Exited];

#[track_caller]
fn not_noticed(told: &Receiver<Death>) {
    assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Timeout));
}

#[test]
fn a_killed_peer_is_noticed_by_its_pidfd_alone() {
    let _alone = alone();
    let Spawned { socket: _socket, process } = sleeper();
    let (_watch, told) = watch(None, Some(copy(&process)));
    process.kill().unwrap();
    noticed(&told, &[Death::Exited]);
}

#[test]
fn a_killed_peer_is_noticed_by_its_socket_alone() {
    let _alone = alone();
    let Spawned { socket, process } = sleeper();
    let (_watch, told) = watch(Some(socket), None);
    process.kill().unwrap();
    noticed(&told, &[Death::HungUp]);
}

/// The control: without both, a death goes unnoticed, so the two tests above can fail.
#[test]
fn without_sources_a_killed_peer_is_not_noticed() {
    let _alone = alone();
    let Spawned { socket: _socket, process } = sleeper();
    let (watch, told) = watch(None, None);
    process.kill().unwrap();
    assert!(process.wait(in_ms(1000)).unwrap(), "it was not killed");
    not_noticed(&told);
    assert!(watch.stop());
}

/// Why there are two sources.
#[test]
fn a_socket_that_somebody_else_holds_hides_a_death() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let holder =
        || Command::new("/bin/sleep").arg("60").stdin(OwnedFd::from(theirs.try_clone().unwrap())).spawn();
    let (mut peer, mut child_of_peer): (Child, Child) = (holder().unwrap(), holder().unwrap());
    drop(theirs);
    let pidfd = pidfd_open(Pid::from_child(&peer), PidfdFlags::empty()).unwrap();
    let (_by_socket, by_socket) = watch(Some(copy(&ours)), None);
    let (_by_both, by_both) = watch(Some(copy(&ours)), Some(copy(&pidfd)));
    peer.kill().unwrap();
    noticed(&by_both, &[Death::Exited]);
    not_noticed(&by_socket);
    // A blocking receive knows, too.
    let mut channel = ClientChannel::new(ours.into());
    let until = Until { process: Some(pidfd.as_fd()), ..Until::default() };
    assert!(matches!(channel.recv(&until), Err(ChannelError::Gone(Death::Exited))));
    assert!(matches!(channel.try_recv(), Ok(None)), "the socket does not know");
    child_of_peer.kill().unwrap();
    noticed(&by_socket, &[Death::HungUp]);
    peer.wait().unwrap();
    child_of_peer.wait().unwrap();
}

#[test]
fn a_stopped_peer_is_not_dead() {
    let _alone = alone();
    let Spawned { socket, process } = sleeper();
    let (_watch, told) = watch(Some(socket), Some(copy(&process)));
    process.signal(Signal::STOP).unwrap();
    assert!(soon(|| common::process(process.number()).unwrap().0 == 'T'), "it was not stopped");
    not_noticed(&told);
    process.signal(Signal::CONT).unwrap();
    assert!(soon(|| common::process(process.number()).unwrap().0 == 'S'), "it does not go on");
    not_noticed(&told);
    process.kill().unwrap();
    noticed(&told, EITHER);
}

#[test]
fn what_was_said_last_is_left_to_be_read() {
    let _alone = alone();
    let (client, server) = runahead_linux::control::channel::pair().unwrap();
    let mut client: ClientChannel = Channel::new(client);
    let (_watch, told) = watch(Some(copy(&server)), None);
    let bye = ClientMessage::Bye(Bye { after: 1 });
    client.send(&bye, vec![], &Until::default()).unwrap();
    not_noticed(&told);
    drop(client);
    noticed(&told, &[Death::HungUp]);
    assert_eq!(ServerChannel::new(server).recv(&Until::default()).unwrap().message, bye);
}

#[test]
fn a_look_says_what_it_saw() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let stop = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let sources = Sources { socket: Some(&ours), process: None };
    (&theirs).write_all(b"readable is no news").unwrap();
    assert_eq!(look(&sources, Some(stop.as_fd()), in_ms(10)).unwrap(), Seen::Nothing);
    rustix::io::write(&stop, &1_u64.to_ne_bytes()).unwrap();
    assert_eq!(look(&sources, Some(stop.as_fd()), None).unwrap(), Seen::Stopped);
    drop(theirs);
    assert_eq!(
        look(&sources, Some(stop.as_fd()), None).unwrap(),
        Seen::Dead(Death::HungUp),
        "a death comes first"
    );
}

#[test]
fn a_peer_that_will_say_no_more_is_gone() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (_watch, told) = watch(Some(ours.into()), None);
    theirs.shutdown(std::net::Shutdown::Write).unwrap();
    noticed(&told, &[Death::HungUp]);
}

#[test]
fn the_process_at_the_other_end_is_known() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let process = process_of(&ours).unwrap();
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", std::os::fd::AsRawFd::as_raw_fd(&process)))
        .unwrap();
    assert!(info.contains(&format!("Pid:\t{}\n", std::process::id())), "{info}");
    drop(theirs);
    assert_eq!(process_of(&ours).unwrap_err().kind(), std::io::ErrorKind::NotConnected);
}

#[test]
fn a_stopped_watch_notices_nothing() {
    let _alone = alone();
    let Spawned { socket, process } = sleeper();
    let (watch, told) = watch(Some(socket), Some(copy(&process)));
    assert!(watch.stop(), "nothing was noticed yet");
    assert!(!watch.stop(), "it was stopped before");
    process.kill().unwrap();
    assert!(process.wait(in_ms(1000)).unwrap());
    // The callback is dropped with its thread, unused.
    assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_watch_can_be_stopped_from_its_own_callback() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (tell, told) = channel();
    let (give, given) = channel::<Watch>();
    let sources = Sources { socket: Some(ours.into()), process: None };
    let watch = Watch::spawn(sources, move |_| {
        let own = given.recv().unwrap();
        tell.send(own.stop()).unwrap();
        drop(own);
        tell.send(true).unwrap();
    });
    drop(theirs);
    give.send(watch.unwrap()).unwrap();
    assert_eq!(told.recv_timeout(SOON), Ok(false), "its callback had begun");
    assert_eq!(told.recv_timeout(SOON), Ok(true));
}

#[test]
fn stopping_waits_for_nobody() {
    let _alone = alone();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (tell, told) = channel();
    let sources = Sources { socket: Some(ours.into()), process: None };
    let watch = Watch::spawn(sources, move |_| {
        tell.send(()).unwrap();
        std::thread::sleep(LONG);
        tell.send(()).unwrap();
    })
    .unwrap();
    drop(theirs);
    told.recv_timeout(SOON).unwrap();
    let begin = Instant::now();
    assert!(!watch.stop());
    drop(watch);
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    told.recv_timeout(2 * LONG).expect("the callback goes on to its end");
}

#[test]
fn a_forked_child_does_not_stop_its_parents_watch() {
    let _alone = alone();
    let Spawned { socket, process } = sleeper();
    let (watch, told) = watch(Some(socket), Some(copy(&process)));
    // SAFETY: the child stores into an atomic, writes to a descriptor and ends: all of it may be done after a fork.
    let child = unsafe { libc::fork() };
    if child == 0 {
        watch.stop();
        // SAFETY: ends the child without the parent's exit handlers.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: a plain call; the status is not asked for.
    assert_eq!(unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) }, child);
    not_noticed(&told);
    process.kill().unwrap();
    noticed(&told, EITHER);
}

fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}

#[test]
fn watches_leave_nothing_behind() {
    let _alone = alone();
    // The tests before left watches that are just ending; the harness may start a thread or two, which wait for us.
    let (before, threads_before) = (descriptors().len(), threads());
    let mut kept = Vec::new();
    for round in 0..200 {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let sources = Sources { socket: Some(OwnedFd::from(ours)), process: None };
        let (tell, told) = channel();
        let watch = Watch::spawn(sources, move |death| tell.send(death).unwrap()).unwrap();
        if round % 2 == 0 {
            drop(theirs);
            assert_eq!(told.recv_timeout(Duration::from_secs(2)), Ok(Death::HungUp));
        } else {
            kept.push(theirs);
        }
        drop(watch);
    }
    assert!(soon(|| threads() <= threads_before + 2), "{} threads were {threads_before}", threads());
    drop(kept);
    assert!(soon(|| descriptors().len() <= before), "{:?}, not {before}", descriptors());
}

/// The program's handlers do not run on our thread.
#[test]
fn the_watch_has_every_signal_blocked() {
    let _alone = alone();
    let (_watch, _told) = watch(None, None);
    let blocked = |task: &std::path::Path| {
        let status = fs::read_to_string(task.join("status")).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t"))?;
        status.contains("Name:\trunahead-peer\n").then(|| u64::from_str_radix(mask, 16).unwrap())
    };
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let masks: Vec<u64> = tasks.filter_map(|task| blocked(&task.unwrap().path())).collect();
    // All but KILL and STOP, which nobody can block, and the C library's own two.
    let blockable = !(1 << (libc::SIGKILL - 1) | 1 << (libc::SIGSTOP - 1) | 3 << 31);
    assert!(!masks.is_empty() && masks.iter().all(|mask| mask & blockable == blockable), "{masks:x?}");
    // And ours are as they were.
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(status.contains("SigBlk:\t0000000000000000\n"), "{status}");
}

/// What a session does with it: a thread that sleeps for the dead peer's answer wakes.
#[test]
fn a_sleeping_waiter_is_woken() {
    const PAGE: usize = 4096;
    struct Session {
        own: OwnedSegment,
        server: OwnedSegment,
        alive: Liveness,
    }
    impl Session {
        fn waiter(&self, wait: impl FnOnce(runahead_rings::Waiter<'_>)) {
            let seen = map_peer(self.server.descriptor(), PAGE).unwrap();
            // SAFETY: the mappings outlive the waiter; their lengths are the kernel's.
            let own: &ClientPage = unsafe { open(self.own.mapping().base(), PAGE) }.unwrap();
            // SAFETY: as above.
            let server: &ServerPage = unsafe { open(seen.base(), PAGE) }.unwrap();
            wait(client::waiter(own, server, &self.alive));
        }
    }
    fn segment<P: Page>() -> OwnedSegment {
        let segment = OwnedSegment::create(c"test", PAGE).unwrap();
        // SAFETY: a fresh segment of one page.
        unsafe { create::<P>(segment.mapping().base(), PAGE, Start::default()) }.unwrap();
        segment
    }

    let _alone = alone();
    let Spawned { socket, process } = sleeper();
    let session = Arc::new(Session {
        own: segment::<ClientPage>(),
        server: segment::<ServerPage>(),
        alive: Liveness::new(),
    });
    let theirs = Arc::clone(&session);
    let sources = Sources { socket: Some(socket), process: Some(copy(&process)) };
    let _watch =
        Watch::spawn(sources, move |_| theirs.waiter(|waiter| waiter.announce_death(&FutexDoorbell)))
            .unwrap();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        session.waiter(|waiter| {
            let never = || Ok::<_, ()>(None::<()>);
            tell.send(waiter.wait(&FutexDoorbell, 0, never)).unwrap();
        });
    });
    assert_eq!(told.recv_timeout(LONG), Err(RecvTimeoutError::Timeout));
    process.kill().unwrap();
    assert_eq!(told.recv_timeout(SOON), Ok(Err(WaitError::Dead)));
    let _ = pidfd_send_signal(&process, Signal::KILL);
}
