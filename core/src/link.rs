//! How two roles reach each other.
//!
//! Rings, stage, reply space and watermarks lie in memory that both roles see, or that a transport keeps equal
//! on both sides; the halves of `runahead_rings` work on it, whatever the link. What differs between links is
//! how the peer learns that something was published, and how one waits for it: that is [`Link`]. Nothing above
//! it knows which kind of link it has.

use core::{cell::Cell, fmt::Debug};

use runahead_rings::{Bell, Doorbell, Ringer, WaitError, Waiter};

use crate::fault::Fault;

/// How soon more will be published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Soon: the peer may be told later.
    Busy,
    /// Not before something else happens: the peer must be told now.
    AtRest,
}

/// How to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// The peer answers within microseconds: look a few times before sleeping.
    Spin,
    /// The peer takes its time: sleep at once, and leave it the core.
    Sleep,
}

/// What a look found.
#[derive(Clone, Copy, Debug)]
pub struct Look<T> {
    /// What was waited for, once it is there.
    pub found: Option<T>,
    /// Whether room was given back that the peer may be waiting for: it is told.
    pub released: bool,
}

impl<T> Look<T> {
    /// A look that gave no room back.
    pub const fn of(found: Option<T>) -> Self {
        Self { found, released: false }
    }
}

/// What the sleeping and waking of one end has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Sleeps.
    pub sleeps: u64,
    /// Nanoseconds asleep; 0 where there is no clock.
    pub nanoseconds: u64,
    /// Times that the sleeping peer was woken.
    pub wakes: u64,
}

/// One role's end of the way to its peer.
pub trait Link: Debug {
    /// Something was published.
    fn published(&mut self, rest: Rest);

    /// Waits until `ready` gives something. It looks at what the peer publishes, drains what the peer must have
    /// drained in order to go on, and does not block.
    ///
    /// # Errors
    /// [`Fault::PeerGone`], once nothing that the peer published before satisfies the wait; or what `ready`
    /// failed with.
    fn wait<T>(
        &mut self,
        patience: Patience,
        ready: impl FnMut() -> Result<Look<T>, Fault>,
    ) -> Result<T, Fault>;

    /// What this end's sleeping has come to; zeros on a link that does not count.
    fn tally(&self) -> Tally {
        Tally::default()
    }
}

/// A doorbell whose use is counted, and timed if there is a clock. It costs nothing while nobody sleeps.
#[derive(Debug)]
pub struct Counted<D> {
    door: D,
    tally: Cell<Tally>,
    /// Nanoseconds.
    clock: Option<fn() -> u64>,
}

impl<D> Counted<D> {
    /// A doorbell that nobody has used; sleeps are timed by a clock in nanoseconds.
    pub const fn new(door: D, clock: Option<fn() -> u64>) -> Self {
        Self { door, tally: Cell::new(Tally { sleeps: 0, nanoseconds: 0, wakes: 0 }), clock }
    }

    /// What its use has come to.
    pub const fn tally(&self) -> Tally {
        self.tally.get()
    }
}

impl<D: Doorbell> Doorbell for Counted<D> {
    fn sleep(&self, bell: Bell<'_>, seen: u32) {
        let start = self.clock.map(|clock| clock());
        self.door.sleep(bell, seen);
        let mut tally = self.tally.get();
        tally.sleeps += 1;
        if let (Some(clock), Some(start)) = (self.clock, start) {
            tally.nanoseconds += clock().saturating_sub(start);
        }
        self.tally.set(tally);
    }

    fn wake(&self, bell: Bell<'_>) {
        let tally = self.tally.get();
        self.tally.set(Tally { wakes: tally.wakes + 1, ..tally });
        self.door.wake(bell);
    }

    fn interrupt(&self, bell: Bell<'_>) {
        self.door.interrupt(bell);
    }
}

/// A link over shared memory: doorbells.
#[derive(Debug)]
pub struct Bells<'a, D: Doorbell + Debug> {
    ringer: Ringer<'a>,
    waiter: Waiter<'a>,
    door: Counted<D>,
    spins: u32,
}

impl<'a, D: Doorbell + Debug> Bells<'a, D> {
    /// A link that looks `spins` times before it sleeps.
    pub const fn new(ringer: Ringer<'a>, waiter: Waiter<'a>, door: D, spins: u32) -> Self {
        Self { ringer, waiter, door: Counted::new(door, None), spins }
    }

    /// The same, with sleeps timed by a clock in nanoseconds.
    #[must_use]
    pub fn timed(mut self, clock: Option<fn() -> u64>) -> Self {
        self.door.clock = clock;
        self
    }

    /// The doorbell.
    pub const fn door(&mut self) -> &mut D {
        &mut self.door.door
    }

    /// Closes this end: the peer's waits end once it has seen everything published before.
    pub fn close(&mut self) {
        self.ringer.close(&self.door);
    }
}

impl<D: Doorbell + Debug> Link for Bells<'_, D> {
    #[inline]
    fn published(&mut self, rest: Rest) {
        match rest {
            Rest::Busy => self.ringer.glance(&self.door),
            Rest::AtRest => self.ringer.ring(&self.door),
        };
    }

    #[inline]
    fn wait<T>(
        &mut self,
        patience: Patience,
        mut ready: impl FnMut() -> Result<Look<T>, Fault>,
    ) -> Result<T, Fault> {
        let Self { ringer, waiter, door, spins } = self;
        let spins = match patience {
            Patience::Spin => *spins,
            Patience::Sleep => 0,
        };
        let look = || {
            let Look { found, released } = ready()?;
            if released {
                ringer.ring(&*door);
            }
            Ok(found)
        };
        waiter.wait(&*door, spins, look).map_err(|error| match error {
            WaitError::Closed | WaitError::Dead => Fault::PeerGone,
            WaitError::Failed(fault) => fault,
        })
    }

    fn tally(&self) -> Tally {
        self.door.tally()
    }
}
