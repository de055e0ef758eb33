//! Answers that are not there yet.
//!
//! The apply thread never blocks in a fence, a query or a readback: what is not ready is owed, and paid between
//! batches. The list is bounded; a debt that finds it full is waited for at once, which is slow and loses
//! nothing.

use core::fmt::Debug;

use runahead_rings::Status;
use runahead_wire::{
    Handle, ReplySpace,
    payload::{BufferWriteback, EventOrigin, FenceSignaled, FenceWaitAnswer},
    values::FenceWaitResult,
    zerocopy::IntoBytes,
};

use super::Applier;
use crate::{
    backend::{Backend, BackendError, Outcome, Ticket},
    fault::Fault,
    objects::Objects,
    outlet::Outlet,
    storage::{Storage, Table},
};

/// Answers owed at once.
const DEBTS: usize = 64;
/// Fences whose signal is to be reported. One that finds the list full is not reported: its client asks.
const REPORTS: usize = 64;

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    /// A fence, for so many nanoseconds from the first look at the clock.
    Fence { fence: Handle, timeout: u64, deadline: Option<u64> },
    /// The result of a query.
    Query { query: Handle },
    /// Bytes, which are the answer.
    Bytes { ticket: Ticket },
    /// Bytes of a buffer, which go as events before the answer.
    Buffer { ticket: Ticket, buffer: Handle, offset: u64 },
}

/// An answer owed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Debt {
    pub(super) space: ReplySpace,
    /// Position of the share group.
    pub(super) group: u32,
    pub(super) origin: EventOrigin,
    pub(super) what: What,
}

/// A fence to be reported once it is signalled.
#[derive(Clone, Copy, Debug)]
struct Report {
    group: u32,
    origin: EventOrigin,
    fence: Handle,
}

/// Everything owed to one client.
#[derive(Debug, Default)]
pub(super) struct Debts {
    answers: heapless::Vec<Debt, DEBTS>,
    /// In the order of creation; looked at up to the first that is not signalled.
    fences: heapless::Deque<Report, REPORTS>,
}

impl Debts {
    pub(super) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.fences.is_empty()
    }

    pub(super) fn has_timeout(&self) -> bool {
        self.answers
            .iter()
            .any(|debt| matches!(debt.what, What::Fence { timeout, .. } if timeout != u64::MAX))
    }

    /// Takes a debt, or hands it back when there are too many.
    pub(super) fn owe(&mut self, debt: Debt) -> Result<(), Debt> {
        self.answers.push(debt)
    }

    /// Pays every debt whose bytes go as events, and waits for them: an event must not overtake an older one, which
    /// may be of the same bytes.
    pub(super) fn pay_buffers<B: Backend, S: Storage>(
        &mut self,
        objects: &mut Objects<B, S>,
        backend: &mut B,
        outlet: &mut impl Outlet,
    ) -> Result<(), Fault> {
        while let Some(at) = self.answers.iter().position(|debt| matches!(debt.what, What::Buffer { .. })) {
            let debt = self.answers.remove(at);
            pay(&debt, objects, backend, outlet, true)?;
        }
        Ok(())
    }

    pub(super) fn report_fence(&mut self, group: u32, origin: EventOrigin, fence: Handle) {
        // Without room the client learns of it by asking.
        let _ = self.fences.push_back(Report { group, origin, fence });
    }

    /// Declines what is owed for an object that ends: a fence counts as signalled, a query as not run.
    fn decline(&mut self, outlet: &mut impl Outlet, is_meant: impl Fn(&Debt) -> bool) -> Result<(), Fault> {
        while let Some(at) = self.answers.iter().position(&is_meant) {
            let debt = self.answers.swap_remove(at);
            outlet.answer(debt.space, Status::Declined, &[])?;
        }
        Ok(())
    }

    pub(super) fn forget_fence(
        &mut self,
        group: u32,
        ended: Handle,
        outlet: &mut impl Outlet,
    ) -> Result<(), Fault> {
        self.decline(outlet, |debt| {
            debt.group == group && matches!(debt.what, What::Fence { fence, .. } if fence.slot == ended.slot)
        })
    }

    pub(super) fn forget_query(
        &mut self,
        group: u32,
        ended: Handle,
        outlet: &mut impl Outlet,
    ) -> Result<(), Fault> {
        self.decline(outlet, |debt| {
            debt.group == group && matches!(debt.what, What::Query { query } if query.slot == ended.slot)
        })
    }

    /// Declines what is owed for a share group that ends, and forgets its reads.
    pub(super) fn forget_group<B: Backend>(
        &mut self,
        group: u32,
        outlet: &mut impl Outlet,
        backend: &mut B,
    ) -> Result<(), Fault> {
        for debt in self.answers.iter().filter(|debt| debt.group == group) {
            if let What::Bytes { ticket } | What::Buffer { ticket, .. } = debt.what {
                backend.end_read(ticket);
            }
        }
        self.decline(outlet, |debt| debt.group == group)
    }

    /// Answers everything with an error.
    pub(super) fn abandon<B: Backend>(
        &mut self,
        outlet: &mut impl Outlet,
        backend: &mut B,
    ) -> Result<(), Fault> {
        let mut answered = Ok(());
        while let Some(debt) = self.answers.pop() {
            if let What::Bytes { ticket } | What::Buffer { ticket, .. } = debt.what {
                backend.end_read(ticket);
            }
            answered = answered.and(outlet.answer(debt.space, Status::Error, &[]));
        }
        answered
    }
}

/// Answers a debt, if what it waits for is there; with `wait`, waits for it. Says whether it is paid.
pub(super) fn pay<B: Backend, S: Storage>(
    debt: &Debt,
    objects: &mut Objects<B, S>,
    backend: &mut B,
    outlet: &mut impl Outlet,
    wait: bool,
) -> Result<bool, Fault> {
    match debt.what {
        What::Fence { fence, .. } => {
            let Some(object) = objects.fences.get_mut(fence) else {
                return outlet.answer(debt.space, Status::Declined, &[]).map(|()| true);
            };
            match backend.poll_fence(&mut object.twin, wait) {
                Ok(false) => return Ok(false),
                Ok(true) => object.record.signaled = true,
                Err(BackendError::DeviceLost) => return Err(Fault::DeviceLost),
                Err(BackendError::Refused(_)) => return declined(outlet, debt.space),
            }
            answer_fence(outlet, debt.space, FenceWaitResult::ConditionSatisfied)?;
        }
        What::Query { query } => {
            let Some(object) = objects.queries.get_mut(query) else {
                return declined(outlet, debt.space);
            };
            let desc = object.record.desc;
            match backend.poll_query(&desc, &mut object.twin, wait) {
                Ok(None) => return Ok(false),
                Ok(Some(answer)) => outlet.answer(debt.space, Status::Ok, answer.as_bytes())?,
                Err(BackendError::DeviceLost) => return Err(Fault::DeviceLost),
                Err(BackendError::Refused(_)) => return declined(outlet, debt.space),
            }
        }
        What::Bytes { ticket } => {
            let Some(bytes) = read(backend.poll_read(ticket, wait))? else { return Ok(false) };
            match bytes {
                Some(bytes) if bytes.len() <= debt.space.capacity as usize => {
                    outlet.answer(debt.space, Status::Ok, bytes)?;
                }
                Some(_) => outlet.answer(debt.space, Status::Error, &[])?,
                None => outlet.answer(debt.space, Status::Declined, &[])?,
            }
            backend.end_read(ticket);
        }
        What::Buffer { ticket, buffer, offset } => {
            let slice = outlet.writeback_bytes().max(1);
            let Some(bytes) = read(backend.poll_read(ticket, wait))? else { return Ok(false) };
            match bytes {
                Some(bytes) => {
                    let mut at = offset;
                    for piece in bytes.chunks(slice) {
                        let size = piece.len() as u32;
                        let event = BufferWriteback {
                            origin: debt.origin,
                            resource: buffer,
                            offset: at,
                            size,
                            ..BufferWriteback::default()
                        };
                        outlet.buffer_writeback(&event, piece)?;
                        at += u64::from(size);
                    }
                    outlet.answer(debt.space, Status::Ok, &[])?;
                }
                None => outlet.answer(debt.space, Status::Declined, &[])?,
            }
            backend.end_read(ticket);
        }
    }
    Ok(true)
}

/// Bytes of a read: not there, there, or refused.
#[allow(clippy::option_option, reason = "three outcomes, of which the inner two end the debt")]
fn read(outcome: Outcome<Option<&[u8]>>) -> Result<Option<Option<&[u8]>>, Fault> {
    match outcome {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => Ok(Some(Some(bytes))),
        Err(BackendError::Refused(_)) => Ok(Some(None)),
        Err(BackendError::DeviceLost) => Err(Fault::DeviceLost),
    }
}

fn declined(outlet: &mut impl Outlet, space: ReplySpace) -> Result<bool, Fault> {
    outlet.answer(space, Status::Declined, &[]).map(|()| true)
}

fn answer_fence(outlet: &mut impl Outlet, space: ReplySpace, result: FenceWaitResult) -> Result<(), Fault> {
    let answer = FenceWaitAnswer { result: result.raw(), ..FenceWaitAnswer::default() };
    outlet.answer(space, Status::Ok, answer.as_bytes())
}

/// See [`Applier::poll`].
pub(super) fn poll<B: Backend, S: Storage, O: Outlet>(
    applier: &mut Applier<B, S, O>,
    now: u64,
) -> Result<(), Fault> {
    let Applier { debts, groups, backend, outlet, .. } = applier;
    let mut at = 0;
    // Bytes that go as events go in the order in which they were read.
    let mut held = false;
    while let Some(debt) = debts.answers.get_mut(at) {
        let is_buffer = matches!(debt.what, What::Buffer { .. });
        let Some(group) = groups.get_mut(debt.group).filter(|_| !(is_buffer && held)) else {
            at += 1;
            continue;
        };
        let mut paid = pay(debt, &mut group.objects, backend, outlet, false)?;
        if !paid && let What::Fence { timeout, deadline, .. } = &mut debt.what {
            let deadline = *deadline.get_or_insert(now.saturating_add(*timeout));
            if now >= deadline {
                answer_fence(outlet, debt.space, FenceWaitResult::TimeoutExpired)?;
                paid = true;
            }
        }
        if paid {
            debts.answers.remove(at);
        } else {
            held |= is_buffer;
            at += 1;
        }
    }
    while let Some(report) = debts.fences.front().copied() {
        let fence = groups.get_mut(report.group).and_then(|group| group.objects.fences.get_mut(report.fence));
        if let Some(fence) = fence {
            if !fence.record.signaled {
                match backend.poll_fence(&mut fence.twin, false) {
                    Ok(false) => break,
                    Ok(true) | Err(BackendError::Refused(_)) => fence.record.signaled = true,
                    Err(BackendError::DeviceLost) => return Err(Fault::DeviceLost),
                }
            }
            outlet.fence_signaled(&FenceSignaled { origin: report.origin, fence: report.fence })?;
        }
        debts.fences.pop_front();
    }
    Ok(())
}
