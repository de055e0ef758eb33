//! What a role counts, as one table: the fields, what printers and JSON say, and the words of the statistics page.
//!
//! Nothing is counted per record: records and bytes are cursors that the rings have anyway, and a wait costs far more
//! than its count. The clock is read around a sleep alone, and only where the link was given one.

use crate::link::Tally;

macro_rules! causes {
    ($($cause:ident, $waits:ident, $parks:ident: $what:literal;)+) => {
        /// What a side waited for. `platform-linux/WAITS.md` says who ends each wait.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Cause {
            $(#[doc = $what] $cause,)+
        }

        impl Cause {
            /// Every cause.
            pub const ALL: &[Self] = &[$(Self::$cause),+];
        }

        impl Counters {
            /// Waits of a cause, and how many of them slept.
            #[must_use]
            pub const fn of(&self, cause: Cause) -> (u64, u64) {
                match cause {
                    $(Cause::$cause => (self.$waits, self.$parks),)+
                }
            }

            const fn of_mut(&mut self, cause: Cause) -> (&mut u64, &mut u64) {
                match cause {
                    $(Cause::$cause => (&mut self.$waits, &mut self.$parks),)+
                }
            }
        }
    };
}

causes! {
    RingRoom, ring_room_waits, ring_room_parks: "Client: room in the command ring.";
    StageRoom, stage_room_waits, stage_room_parks: "Client: room in the stage.";
    Credit, credit_waits, credit_parks: "Client: the present credit.";
    Answer, answer_waits, answer_parks: "Client: an answer.";
    Watermark, watermark_waits, watermark_parks: "Client: a watermark that its caller asked for, or that lockstep does.";
    Control, control_waits, control_parks: "Client: an answer over the control plane.";
    Work, work_waits, work_parks: "Server: records to apply.";
    EventRoom, event_room_waits, event_room_parks: "Server: room in the event ring.";
}

/// Buckets of [`Counters::slept`].
pub const BUCKETS: usize = 20;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Name of the field.
    pub name: &'static str,
    /// What it counts.
    pub what: &'static str,
}

macro_rules! counters {
    ($($name:ident: $what:literal;)+) => {
        /// What one role has counted since its session began. A field that is the other role's stays 0.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $(#[doc = $what] pub $name: u64,)+
            /// Waits that slept, by the microseconds that they slept in all: the first bucket holds those below 1,
            /// bucket `n` those from `2^(n-1)` up to `2^n`, the last everything longer.
            pub slept: [u64; BUCKETS],
        }

        impl Counters {
            /// The table, in the order of the fields; [`Counters::slept`] follows it.
            pub const ROWS: &[Row] = &[$(Row { name: stringify!($name), what: $what }),+];

            /// The values in the order of [`Counters::ROWS`].
            #[must_use]
            pub const fn values(&self) -> [u64; Self::ROWS.len()] {
                [$(self.$name),+]
            }

            fn fields(&mut self) -> [&mut u64; Self::ROWS.len()] {
                [$(&mut self.$name),+]
            }
        }
    };
}

counters! {
    records: "records recorded, or applied";
    command_bytes: "bytes of records, pads included";
    command_laps: "times that the command ring went round";
    command_pads: "pads at the end of the command ring";
    stage_bytes: "bytes of the stage, skipped ends included";
    events: "events taken, or sent";
    event_bytes: "bytes of events, pads included";
    answers: "answers taken, or given";
    reply_bytes: "bytes of answers";
    presents: "presents recorded, or done";
    ring_room_waits: "waits for room in the command ring";
    ring_room_parks: "of these, waits that slept";
    stage_room_waits: "waits for room in the stage";
    stage_room_parks: "of these, waits that slept";
    credit_waits: "waits for the present credit";
    credit_parks: "of these, waits that slept";
    answer_waits: "waits for an answer";
    answer_parks: "of these, waits that slept";
    watermark_waits: "waits for the server to have applied, retired or shown something";
    watermark_parks: "of these, waits that slept";
    control_waits: "requests over the control plane, each a wait";
    control_parks: "of these, waits that slept";
    work_waits: "waits for records to apply";
    work_parks: "of these, waits that slept";
    event_room_waits: "waits for room in the event ring";
    event_room_parks: "of these, waits that slept";
    sleeps: "sleeps at the doorbell; a wait can have several";
    asleep_us: "microseconds asleep at the doorbell or at the control plane";
    wakeups: "times that the sleeping peer was woken";
    verbs: "verbs seen since states are compared (RUNAHEAD_VERIFY)";
    verbs_compared: "of these, verbs before which the client's state was compared";
}

/// Words of [`Counters`] as they lie in a page.
pub const WORDS: usize = Counters::ROWS.len() + BUCKETS;

/// The bucket of a time.
const fn bucket(microseconds: u64) -> usize {
    let bits = (u64::BITS - microseconds.leading_zeros()) as usize;
    if bits < BUCKETS { bits } else { BUCKETS - 1 }
}

impl Counters {
    /// Counts a wait that looked `looks` times, whose end of the link had come to `before` and has come to `after`.
    /// One that found what it wanted at the first look is none.
    pub fn waited(&mut self, cause: Cause, looks: u64, before: Tally, after: Tally) {
        if looks > 1 {
            let sleeps = after.sleeps.wrapping_sub(before.sleeps);
            self.count(
                cause,
                (sleeps != 0).then(|| after.nanoseconds.wrapping_sub(before.nanoseconds) / 1000),
            );
        }
    }

    /// Counts a wait, with the microseconds that it slept if it did.
    pub fn count(&mut self, cause: Cause, slept: Option<u64>) {
        let (waits, parks) = self.of_mut(cause);
        *waits += 1;
        if let Some(microseconds) = slept {
            *parks += 1;
            self.asleep_us += microseconds;
            self.slept[bucket(microseconds)] += 1;
        }
    }

    /// Waits for something that only the server's having got so far could end: an answer, a watermark, a request.
    #[must_use]
    pub const fn round_trips(&self) -> u64 {
        self.answer_waits.saturating_add(self.watermark_waits).saturating_add(self.control_waits)
    }

    /// What was counted since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let (now, before) = (self.to_words(), before.to_words());
        let mut difference = [0; WORDS];
        for (difference, (now, before)) in difference.iter_mut().zip(now.iter().zip(before)) {
            *difference = now.saturating_sub(before);
        }
        Self::from_words(&difference)
    }

    /// As words of a page.
    #[must_use]
    pub fn to_words(&self) -> [u64; WORDS] {
        let mut words = [0; WORDS];
        for (word, value) in words.iter_mut().zip(self.values().into_iter().chain(self.slept)) {
            *word = value;
        }
        words
    }

    /// From words of a page. Any words will do: they are numbers to be shown, and nothing is decided by them.
    #[must_use]
    pub fn from_words(words: &[u64; WORDS]) -> Self {
        let mut counters = Self::default();
        let mut slept = [0; BUCKETS];
        for (field, word) in counters.fields().into_iter().chain(&mut slept).zip(words) {
            *field = *word;
        }
        counters.slept = slept;
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_back() {
        let mut words = [0; WORDS];
        for (at, word) in words.iter_mut().enumerate() {
            *word = at as u64 + 1;
        }
        let counters = Counters::from_words(&words);
        assert_eq!(counters.to_words(), words);
        assert_eq!((counters.records, counters.slept[BUCKETS - 1]), (1, WORDS as u64));
        assert_eq!(counters.since(&counters), Counters::default());
        assert_eq!(counters.since(&Counters::default()), counters);
    }

    #[test]
    fn names_and_values_are_in_one_order() {
        let counters = Counters { records: 7, wakeups: 9, credit_parks: 3, ..Counters::default() };
        for (row, value) in Counters::ROWS.iter().zip(counters.values()) {
            let expected = match row.name {
                "records" => 7,
                "wakeups" => 9,
                "credit_parks" => 3,
                _ => 0,
            };
            assert_eq!(value, expected, "{}", row.name);
        }
    }

    #[test]
    fn each_cause_has_counters_of_its_own() {
        let mut counters = Counters::default();
        for (at, cause) in Cause::ALL.iter().enumerate() {
            (0..=at).for_each(|_| counters.count(*cause, None));
            counters.count(*cause, Some(0));
        }
        for (at, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(counters.of(*cause), (at as u64 + 2, 1), "{cause:?}");
        }
    }

    #[test]
    fn buckets_are_powers_of_two() {
        for (microseconds, expected) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)] {
            assert_eq!(bucket(microseconds), expected, "{microseconds}");
        }
        assert_eq!((bucket(1 << 18), bucket(u64::MAX)), (BUCKETS - 1, BUCKETS - 1));
    }

    #[test]
    fn a_wait_that_did_not_wait_is_none() {
        let mut counters = Counters::default();
        let asleep = Tally { sleeps: 1, nanoseconds: 5_000, wakes: 0 };
        counters.waited(Cause::Credit, 1, Tally::default(), Tally::default());
        assert_eq!(counters, Counters::default());
        counters.waited(Cause::Credit, 2, Tally::default(), Tally::default());
        counters.waited(Cause::Answer, 9, Tally::default(), asleep);
        assert_eq!((counters.credit_waits, counters.credit_parks), (1, 0));
        assert_eq!((counters.answer_waits, counters.answer_parks, counters.asleep_us), (1, 1, 5));
        assert_eq!((counters.slept[3], counters.round_trips()), (1, 1));
    }
}
