//! A backend that draws nothing and counts what it gets.

use crate::trace::{Call, Listener, Method, Trace};

/// Counts calls.
#[derive(Clone, Debug)]
pub struct Counts {
    counts: [u64; Method::ALL.len()],
}

impl Default for Counts {
    fn default() -> Self {
        Self { counts: [0; Method::ALL.len()] }
    }
}

impl Counts {
    /// Calls of a method.
    #[must_use]
    pub const fn of(&self, method: Method) -> u64 {
        self.counts[method as usize]
    }

    /// Calls of all methods.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Listener for Counts {
    #[inline]
    fn call(&mut self, call: &Call<'_>) {
        if let Some(count) = self.counts.get_mut(call.method as usize) {
            *count += 1;
        }
    }
}

/// A backend that draws nothing and counts what it gets.
pub type Null = Trace<Counts>;
