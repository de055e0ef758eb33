//! `bench rings`: throughput in interleaved rounds, then latency.

use crate::{
    bare::HandOver,
    latency,
    ours::{Mode, Transfer},
    peers::{BbqueueGrants, CrossbeamSlots, HeaplessSlots, RingbufSlots, RtrbBytes, RtrbSlots},
    report::{Case, Goal, Report},
    work::{Transport, median},
};

const MIB: usize = 1 << 20;
/// How long one trial should take.
const TRIAL: f64 = 0.060;
/// How often a disturbed trial is repeated.
const TRIES: usize = 5;

/// One transport at one size.
struct Runner {
    case: String,
    against: &'static str,
    goal: Goal,
    bytes: usize,
    transport: Box<dyn Transport>,
    records: u64,
    rates: Vec<f64>,
}

impl Runner {
    fn new(
        case: impl Into<String>,
        against: &'static str,
        goal: Goal,
        bytes: usize,
        transport: impl Transport + 'static,
    ) -> Self {
        Self {
            case: case.into(),
            against,
            goal,
            bytes,
            transport: Box::new(transport),
            records: 0,
            rates: Vec::new(),
        }
    }

    /// Millions of records a second, tried again a few times if something else took a processor meanwhile.
    fn trial(&mut self, records: u64) -> f64 {
        let mut best = 0.0_f64;
        for _ in 0..TRIES {
            let trial = self.transport.run(records);
            let rate = records as f64 / trial.time.as_secs_f64() / 1e6;
            if trial.undisturbed {
                return rate;
            }
            best = best.max(rate);
        }
        best
    }

    /// Finds how many records a trial takes; also the warm-up.
    fn calibrate(&mut self) {
        let first = self.trial(20_000);
        let again = self.trial(((first * 1e6 * TRIAL / 4.0) as u64).max(20_000));
        self.records = ((again * 1e6 * TRIAL) as u64).max(20_000);
    }
}

/// Runs a group in interleaved rounds, the order reversed each round, and reports it. A ratio is the median
/// of the ratios within the rounds.
fn group(report: &mut Report, bench: &str, rounds: usize, mut runners: Vec<Runner>) {
    if !report.wants(bench) {
        return;
    }
    for runner in &mut runners {
        runner.calibrate();
    }
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..runners.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let records = runners[index].records;
            let rate = runners[index].trial(records);
            runners[index].rates.push(rate);
        }
    }
    for runner in &runners {
        let mut rates = runner.rates.clone();
        // Against the best of all variants of that name in the same round.
        let mut ratios: Vec<f64> = (0..rounds)
            .map(|round| {
                let best = runners
                    .iter()
                    .filter(|other| !runner.against.is_empty() && other.case.starts_with(runner.against))
                    .map(|other| other.rates[round])
                    .fold(0.0_f64, f64::max);
                runner.rates[round] / best
            })
            .collect();
        let rate = median(&mut rates);
        report.add(&Case {
            bench,
            case: &runner.case,
            value: rate,
            unit: "M/s",
            against: runner.against,
            ratio: median(&mut ratios),
            goal: runner.goal,
        });
        report.add(&Case {
            bench,
            case: &format!("{} (bytes)", runner.case),
            value: rate * runner.bytes as f64 / 1e3,
            unit: "GB/s",
            against: "",
            ratio: 0.0,
            goal: Goal::None,
        });
    }
}

const BATCHED: Mode = Mode { each: false, copied: false };
const EACH: Mode = Mode { each: true, copied: false };
const COPIED: Mode = Mode { each: false, copied: true };

pub fn run(report: &mut Report, rounds: usize) {
    // 68 payload bytes, 72 with padding: the record is 80 bytes with its header.
    group(
        report,
        "rings: 80-byte records, 1 MiB",
        rounds,
        vec![
            Runner::new("bare", "", Goal::None, 80, HandOver::<80, 68>::new(MIB, 0)),
            Runner::new("bare, prefetch 1 KiB", "", Goal::None, 80, HandOver::<80, 68>::new(MIB, 1024)),
            Runner::new("ring, batched", "bare", Goal::AtLeast(0.80), 80, Transfer::new(68, MIB, BATCHED)),
            Runner::new(
                "ring, batched, copied out",
                "ring, batched",
                Goal::AtLeast(1.0 / 1.35),
                80,
                Transfer::new(68, MIB, COPIED),
            ),
            Runner::new("rtrb bytes", "", Goal::None, 80, RtrbBytes::new(68, MIB)),
        ],
    );
    group(
        report,
        "rings: 80-byte records, 8 MiB",
        rounds,
        vec![
            Runner::new("bare", "", Goal::None, 80, HandOver::<80, 68>::new(8 * MIB, 0)),
            Runner::new("bare, prefetch 1 KiB", "", Goal::None, 80, HandOver::<80, 68>::new(8 * MIB, 1024)),
            Runner::new(
                "ring, batched",
                "bare",
                Goal::AtLeast(0.70),
                80,
                Transfer::new(68, 8 * MIB, BATCHED),
            ),
            Runner::new(
                "ring, each record",
                "bare",
                Goal::AtLeast(0.42),
                80,
                Transfer::new(68, 8 * MIB, EACH),
            ),
            Runner::new(
                "ring, batched, copied out",
                "ring, batched",
                Goal::AtLeast(1.0 / 1.35),
                80,
                Transfer::new(68, 8 * MIB, COPIED),
            ),
            Runner::new("rtrb bytes", "", Goal::None, 80, RtrbBytes::new(68, 8 * MIB)),
            Runner::new("rtrb slots", "", Goal::None, 80, RtrbSlots::<68>::new(8 * MIB)),
            Runner::new("ringbuf slots", "", Goal::None, 80, RingbufSlots::<68>::new(8 * MIB)),
            Runner::new("heapless slots", "", Goal::None, 80, HeaplessSlots::<68, 1024>::new()),
            Runner::new("crossbeam slots", "", Goal::None, 80, CrossbeamSlots::<68>::new(8 * MIB)),
            Runner::new("bbqueue grants", "", Goal::None, 80, BbqueueGrants::new(68, 8 * MIB)),
            Runner::new(
                "ring against rtrb",
                "rtrb bytes",
                Goal::AtLeast(2.5),
                80,
                Transfer::new(68, 8 * MIB, BATCHED),
            ),
            Runner::new(
                "ring against bbqueue",
                "bbqueue grants",
                Goal::AtLeast(10.0),
                80,
                Transfer::new(68, 8 * MIB, BATCHED),
            ),
        ],
    );
    group(
        report,
        "rings: 24-byte records, 8 MiB",
        rounds,
        vec![
            Runner::new("bare", "", Goal::None, 24, HandOver::<24, 16>::new(8 * MIB, 0)),
            Runner::new("bare, prefetch 1 KiB", "", Goal::None, 24, HandOver::<24, 16>::new(8 * MIB, 1024)),
            Runner::new(
                "ring, batched",
                "bare",
                Goal::AtLeast(0.30),
                24,
                Transfer::new(16, 8 * MIB, BATCHED),
            ),
        ],
    );
    group(
        report,
        "rings: 264-byte records, 8 MiB",
        rounds,
        vec![
            Runner::new("bare", "", Goal::None, 264, HandOver::<264, 256>::new(8 * MIB, 0)),
            Runner::new(
                "bare, prefetch 1 KiB",
                "",
                Goal::None,
                264,
                HandOver::<264, 256>::new(8 * MIB, 1024),
            ),
            Runner::new(
                "ring, batched",
                "bare",
                Goal::AtLeast(0.85),
                264,
                Transfer::new(256, 8 * MIB, BATCHED),
            ),
        ],
    );
    group(
        report,
        "rings: 4104-byte records, 8 MiB",
        rounds,
        vec![
            Runner::new("bare", "", Goal::None, 4104, HandOver::<4104, 4096>::new(8 * MIB, 0)),
            Runner::new(
                "ring, batched",
                "bare",
                Goal::AtLeast(0.85),
                4104,
                Transfer::new(4096, 8 * MIB, BATCHED),
            ),
        ],
    );
    latency::run(report, rounds);
}
