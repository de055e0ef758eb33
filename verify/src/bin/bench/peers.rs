//! Other rings, doing the same work with the API that suits it best.

use std::hint::spin_loop;

use ringbuf::traits::{Consumer as _, Producer as _, Split as _};

use crate::work::{Template, Transport, Trial, race};

/// Memory to be written, every byte of it, before it is read: the record is copied once, as in our ring.
fn writable<T: Copy>(memory: &mut [std::mem::MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: bytes and arrays of bytes; rtrb's storage is plain memory and both callers write all of it.
    unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), memory.len()) }
}

/// rtrb, a ring of bytes: a record is a chunk that may come in two pieces.
pub struct RtrbBytes {
    halves: (rtrb::Producer<u8>, rtrb::Consumer<u8>),
    payload: usize,
}

impl RtrbBytes {
    pub fn new(payload: usize, capacity: usize) -> Self {
        Self { halves: rtrb::RingBuffer::new(capacity), payload }
    }
}

impl Transport for RtrbBytes {
    fn run(&mut self, records: u64) -> Trial {
        let (producer, consumer) = &mut self.halves;
        let template = Template::new(self.payload);
        race(
            || {
                let len = template.len();
                let mut record = [0; crate::work::LARGEST];
                for sequence in 0..records {
                    let mut chunk = loop {
                        match producer.write_chunk_uninit(len) {
                            Ok(chunk) => break chunk,
                            Err(_) => spin_loop(),
                        }
                    };
                    let (first, second) = chunk.as_mut_slices();
                    if second.is_empty() {
                        template.write(writable(first), sequence);
                    } else {
                        template.write(&mut record[..len], sequence);
                        let (head, tail) = record[..len].split_at(first.len());
                        first.write_copy_of_slice(head);
                        second.write_copy_of_slice(tail);
                    }
                    // SAFETY: every byte of both slices was written.
                    unsafe { chunk.commit_all() };
                }
            },
            || {
                let len = template.len();
                let mut record = [0; crate::work::LARGEST];
                for sequence in 0..records {
                    let chunk = loop {
                        match consumer.read_chunk(len) {
                            Ok(chunk) => break chunk,
                            Err(_) => spin_loop(),
                        }
                    };
                    let (first, second) = chunk.as_slices();
                    if second.is_empty() {
                        template.check(first, sequence);
                    } else {
                        record[..first.len()].copy_from_slice(first);
                        record[first.len()..len].copy_from_slice(second);
                        template.check(&record[..len], sequence);
                    }
                    chunk.commit_all();
                }
            },
        )
    }
}

/// rtrb, a ring of fixed slots, written and read in place.
pub struct RtrbSlots<const N: usize>((rtrb::Producer<[u8; N]>, rtrb::Consumer<[u8; N]>));

impl<const N: usize> RtrbSlots<N> {
    pub fn new(capacity: usize) -> Self {
        Self(rtrb::RingBuffer::new(capacity / N))
    }
}

impl<const N: usize> Transport for RtrbSlots<N> {
    fn run(&mut self, records: u64) -> Trial {
        let (producer, consumer) = &mut self.0;
        let template = Template::new(N);
        race(
            || {
                for sequence in 0..records {
                    let mut chunk = loop {
                        match producer.write_chunk_uninit(1) {
                            Ok(chunk) => break chunk,
                            Err(_) => spin_loop(),
                        }
                    };
                    template.write(&mut writable(chunk.as_mut_slices().0)[0], sequence);
                    // SAFETY: the one slot was written.
                    unsafe { chunk.commit_all() };
                }
            },
            || {
                for sequence in 0..records {
                    let chunk = loop {
                        match consumer.read_chunk(1) {
                            Ok(chunk) => break chunk,
                            Err(_) => spin_loop(),
                        }
                    };
                    template.check(&chunk.as_slices().0[0], sequence);
                    chunk.commit_all();
                }
            },
        )
    }
}

/// Moves records by value through a queue of fixed slots that gives back what does not fit.
fn move_slots<const N: usize>(
    records: u64,
    mut push: impl FnMut([u8; N]) -> Result<(), [u8; N]> + Send,
    mut pop: impl FnMut() -> Option<[u8; N]> + Send,
) -> Trial {
    let template = Template::new(N);
    race(
        || {
            for sequence in 0..records {
                let mut slot = [0; N];
                template.write(&mut slot, sequence);
                while let Err(back) = push(slot) {
                    slot = back;
                    spin_loop();
                }
            }
        },
        || {
            for sequence in 0..records {
                let slot = loop {
                    match pop() {
                        Some(slot) => break slot,
                        None => spin_loop(),
                    }
                };
                template.check(&slot, sequence);
            }
        },
    )
}

/// ringbuf, a ring of fixed slots.
pub struct RingbufSlots<const N: usize>((ringbuf::HeapProd<[u8; N]>, ringbuf::HeapCons<[u8; N]>));

impl<const N: usize> RingbufSlots<N> {
    pub fn new(capacity: usize) -> Self {
        Self(ringbuf::HeapRb::new(capacity / N).split())
    }
}

impl<const N: usize> Transport for RingbufSlots<N> {
    fn run(&mut self, records: u64) -> Trial {
        let (producer, consumer) = &mut self.0;
        move_slots(records, |slot| producer.try_push(slot), || consumer.try_pop())
    }
}

/// heapless, a queue of fixed slots.
pub struct HeaplessSlots<const N: usize, const SLOTS: usize>(Box<heapless::spsc::Queue<[u8; N], SLOTS>>);

impl<const N: usize, const SLOTS: usize> HeaplessSlots<N, SLOTS> {
    pub fn new() -> Self {
        Self(Box::new(heapless::spsc::Queue::new()))
    }
}

impl<const N: usize, const SLOTS: usize> Transport for HeaplessSlots<N, SLOTS> {
    fn run(&mut self, records: u64) -> Trial {
        let (mut producer, mut consumer) = self.0.split();
        move_slots(records, |slot| producer.enqueue(slot), || consumer.dequeue())
    }
}

/// crossbeam-channel, bounded, not blocking.
pub struct CrossbeamSlots<const N: usize>(
    (crossbeam_channel::Sender<[u8; N]>, crossbeam_channel::Receiver<[u8; N]>),
);

impl<const N: usize> CrossbeamSlots<N> {
    pub fn new(capacity: usize) -> Self {
        Self(crossbeam_channel::bounded(capacity / N))
    }
}

impl<const N: usize> Transport for CrossbeamSlots<N> {
    fn run(&mut self, records: u64) -> Trial {
        let (sender, receiver) = &self.0;
        let push = |slot| sender.try_send(slot).map_err(crossbeam_channel::TrySendError::into_inner);
        move_slots(records, push, || receiver.try_recv().ok())
    }
}

/// bbqueue, a contiguous grant a record.
pub struct BbqueueGrants {
    queue: bbqueue::nicknames::GogiGui,
    payload: usize,
}

impl BbqueueGrants {
    pub fn new(payload: usize, capacity: usize) -> Self {
        let storage = bbqueue::traits::storage::BoxedSlice::new(capacity);
        Self { queue: bbqueue::nicknames::GogiGui::new_with_storage(storage), payload }
    }
}

impl Transport for BbqueueGrants {
    fn run(&mut self, records: u64) -> Trial {
        let (producer, consumer) = (self.queue.stream_producer(), self.queue.stream_consumer());
        let template = Template::new(self.payload);
        race(
            || {
                let len = template.len();
                for sequence in 0..records {
                    let mut grant = loop {
                        match producer.grant_exact(len) {
                            Ok(grant) => break grant,
                            Err(_) => spin_loop(),
                        }
                    };
                    template.write(&mut grant[..len], sequence);
                    grant.commit(len);
                }
            },
            || {
                let len = template.len();
                let mut sequence = 0;
                while sequence < records {
                    let Ok(grant) = consumer.read() else {
                        spin_loop();
                        continue;
                    };
                    // All records of a grant, released at once: its best case.
                    let mut read = 0;
                    for record in grant.chunks_exact(len) {
                        template.check(record, sequence);
                        sequence += 1;
                        read += len;
                    }
                    grant.release(read);
                }
            },
        )
    }
}
