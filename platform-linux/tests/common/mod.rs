//! What several tests need.

#![allow(dead_code, reason = "each test uses its part")]

use std::{
    fs,
    process::Command,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Tests that count descriptors or threads of this process run one at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Numbers of the open descriptors of this process, without the one that lists them.
pub fn descriptors() -> Vec<i32> {
    let listed = fs::read_dir("/proc/self/fd").unwrap();
    let mut numbers: Vec<i32> =
        listed.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
    numbers.retain(|number| fs::read_link(format!("/proc/self/fd/{number}")).is_ok());
    numbers.sort_unstable();
    numbers
}

/// This test program again, running one ignored test.
pub fn this_program(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(role_arguments(role));
    command
}

/// Arguments that make this test program run one ignored test.
pub const fn role_arguments(role: &str) -> [&str; 5] {
    ["--ignored", "--exact", role, "--nocapture", "--test-threads=1"]
}

/// Looks until it is true or two seconds passed.
pub fn soon(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(2);
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

pub fn in_ms(milliseconds: u64) -> Option<Instant> {
    Some(Instant::now() + Duration::from_millis(milliseconds))
}

/// State letter and parent of a process, if there is one of that number.
pub fn process(number: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name before may hold anything, parentheses too.
    let mut fields = stat[stat.rfind(')')? + 2..].split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
