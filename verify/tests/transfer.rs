//! Records of random sizes through the real thing: sealed segments, each side's own mapping, doorbells that
//! sleep; between two threads and between two processes. Nothing is lost, reordered or torn.

#![allow(clippy::print_stdout, reason = "the other process says its descriptors on it")]

mod common;

use std::{
    io::{BufRead, BufReader},
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    process::{Command, Stdio},
    time::Duration,
};

use common::{Owned, Random, Seen};
use runahead_linux::doorbell::{EventFdDoorbell, FutexDoorbell};
use runahead_rings::{
    ClientPage, Doorbell, Fault, Liveness, ReserveError, ServerPage, WaitError, Waiter, client, record,
    server,
};
use rustix::{
    io::dup,
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};

/// Small, so that it fills, wraps and pads all the time.
const RING: usize = 1 << 14;

/// Seed of the sizes.
const SIZES: u64 = 7;

/// Size of the next record, the same for both sides.
fn size(random: &mut Random) -> usize {
    let largest = record::max_record(RING) as u64;
    // Mostly small, sometimes as large as can be.
    let bound = if random.below(64) == 0 { largest } else { 256 };
    8 + random.below(bound - 7) as usize
}

fn fill(record: &mut [u8], n: u64) {
    let size = record.len() as u64;
    record[..8].copy_from_slice(&(1 | (n & 0xffff) << 16 | size << 32).to_le_bytes());
    for (index, word) in record[8..].chunks_mut(8).enumerate() {
        let value = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index as u64;
        word.copy_from_slice(&value.to_le_bytes()[..word.len()]);
    }
}

fn check(record: &[u8], n: u64, expected: usize) {
    assert_eq!(record.len(), expected.next_multiple_of(8), "record {n} has another size");
    let mut copy = vec![0; record.len()];
    fill(&mut copy, n);
    assert_eq!(record, copy, "record {n} is lost, reordered or torn");
}

/// The client: pushes, sleeping for room.
fn produce(own: &Owned, server: &Seen, door: &impl Doorbell, records: u64, alive: &Liveness) {
    let (page, peer) = (own.page::<ClientPage>(), server.page::<ServerPage>());
    // SAFETY: the test's only producer.
    let mut producer = unsafe { client::commands(page, peer, own.region()) };
    let waiter = client::waiter(page, peer, alive);
    let mut ringer = client::ringer(page, peer);
    let (mut sizes, mut random) = (Random::new(SIZES), Random::new(11));
    for n in 1..=records {
        let size = size(&mut sizes);
        loop {
            match producer.reserve(size) {
                Ok(mut grant) => {
                    fill(&mut grant, n);
                    grant.commit();
                    break;
                }
                Err(ReserveError::Full) => {
                    producer.publish();
                    ringer.ring(door);
                    let room = || producer.has_room(size).map(|room| room.then_some(()));
                    waiter.wait(door, 10, room).expect("a living server");
                }
                Err(error) => panic!("record {n} of {size} bytes: {error}"),
            }
        }
        // Batches of all lengths, and pauses long enough that the server sleeps.
        if producer.pending() >= record::BATCH || random.below(50) == 0 {
            producer.publish();
            ringer.ring(door);
        }
        if random.below(20_000) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    producer.publish();
    ringer.ring(door);
    ringer.close(door);
}

/// The server: consumes copies, sleeping for records; returns how many, and why it stopped.
fn consume(own: &Owned, client: &Seen, door: &impl Doorbell, alive: &Liveness) -> (u64, WaitError<Fault>) {
    let (page, peer) = (own.page::<ServerPage>(), client.page::<ClientPage>());
    let mut scratch = vec![0; record::max_record(RING) / 8];
    let mut commands = server::commands_copied(page, peer, client.region(), &mut scratch);
    let waiter: Waiter<'_> = server::waiter(page, peer, alive);
    let mut ringer = server::ringer(page, peer);
    let mut sizes = Random::new(SIZES);
    let mut n = 0;
    loop {
        while let Some(record) = commands.next().expect("no fault") {
            n += 1;
            check(record, n, size(&mut sizes));
            if commands.take_released() {
                ringer.ring(door);
            }
        }
        if commands.take_released() {
            ringer.ring(door);
        }
        let more = || commands.poll().map(|more| more.then_some(()));
        if let Err(ended) = waiter.wait(door, 10, more) {
            return (n, ended);
        }
    }
}

/// Records that a run moves.
const RECORDS: u64 = 200_000;

fn between_threads(client_door: &(impl Doorbell + Sync), server_door: &(impl Doorbell + Sync)) {
    let (client, server) = (Owned::new::<ClientPage>(RING), Owned::new::<ServerPage>(RING));
    let (client_seen, server_seen) = (client.seen(), server.seen());
    let alive = Liveness::new();
    std::thread::scope(|scope| {
        let consuming = scope.spawn(|| consume(&server, &client_seen, server_door, &alive));
        produce(&client, &server_seen, client_door, RECORDS, &alive);
        assert_eq!(consuming.join().unwrap(), (RECORDS, WaitError::Closed));
    });
}

#[test]
fn between_threads_with_futexes() {
    between_threads(&FutexDoorbell, &FutexDoorbell);
}

#[test]
fn between_threads_with_eventfds() {
    let (client, server) = (EventFdDoorbell::descriptor().unwrap(), EventFdDoorbell::descriptor().unwrap());
    let client_door = EventFdDoorbell::new(client.try_clone().unwrap(), server.try_clone().unwrap());
    let server_door = EventFdDoorbell::new(server, client);
    between_threads(&client_door, &server_door);
}

#[test]
#[should_panic(expected = "lost, reordered or torn")]
fn a_wrong_byte_is_found() {
    let mut record = vec![0; 64];
    fill(&mut record, 5);
    record[40] ^= 1;
    check(&record, 5, 64);
}

/// Environment variable that tells the child the client's descriptors.
const CLIENT: &str = "TRANSFER_TEST_CLIENT";

/// The server's process: it creates what it writes, says under which numbers, and consumes.
#[test]
#[ignore = "the other process of between_processes"]
fn server_process() {
    let numbers = std::env::var(CLIENT).expect("between_processes starts this");
    let client: Vec<OwnedFd> = numbers
        .split(',')
        .map(|number| {
            // SAFETY: the parent left the descriptor open for us; it is duplicated before anything owns it.
            let inherited = unsafe { BorrowedFd::borrow_raw(number.parse().expect("a descriptor")) };
            inherited.try_clone_to_owned().unwrap()
        })
        .collect();
    let own = Owned::new::<ServerPage>(RING);
    let seen = Seen::new(&client[0], &client[1], RING);
    let [page, ring] = own.descriptors().map(|descriptor| descriptor.as_raw_fd());
    println!("\nserver: {page} {ring}");
    let alive = Liveness::new();
    let (records, ended) = consume(&own, &seen, &FutexDoorbell, &alive);
    assert_eq!((records, ended), (RECORDS, WaitError::Closed));
}

#[test]
fn between_processes() {
    let own = Owned::new::<ClientPage>(RING);
    // Copies that the child inherits.
    let inherited = own.descriptors().map(|descriptor| dup(descriptor).unwrap());
    let numbers = inherited.iter().map(|one| one.as_raw_fd().to_string()).collect::<Vec<_>>().join(",");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "server_process", "--nocapture"])
        .env(CLIENT, numbers)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = output.find(|line| line.starts_with("server: "));
    let line = line.expect("the child says its descriptors");
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    let theirs: Vec<OwnedFd> = line["server: ".len()..]
        .split(' ')
        .map(|number| pidfd_getfd(&process, number.parse().unwrap(), PidfdGetfdFlags::empty()).unwrap())
        .collect();
    let server = Seen::new(&theirs[0], &theirs[1], RING);
    let alive = Liveness::new();
    std::thread::scope(|scope| {
        // What a session's watcher does: a server that dies ends our waits instead of hanging them.
        let watching = scope.spawn(|| {
            // To its end, or the child would fail at printing its last lines.
            output.for_each(drop);
            let status = child.wait().unwrap();
            let waiter = client::waiter(own.page::<ClientPage>(), server.page::<ServerPage>(), &alive);
            waiter.announce_death(&FutexDoorbell);
            status
        });
        produce(&own, &server, &FutexDoorbell, RECORDS, &alive);
        assert!(watching.join().unwrap().success(), "the server's process failed");
    });
}

#[test]
fn a_peer_cannot_write() {
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    let own = Owned::new::<ClientPage>(RING);
    for descriptor in own.descriptors() {
        let len = rustix::fs::fstat(descriptor).unwrap().st_size as usize;
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, if there were one.
        let mapped = unsafe { mmap(std::ptr::null_mut(), len, writable, MapFlags::SHARED, descriptor, 0) };
        assert_eq!(mapped.err(), Some(rustix::io::Errno::PERM), "a peer can map the segment for writing");
        assert_eq!(rustix::fs::ftruncate(descriptor, 0).err(), Some(rustix::io::Errno::PERM));
    }
}
