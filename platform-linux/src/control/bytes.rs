//! Runs of bytes inside messages.

use core::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Visitor};

/// Bytes that travel as one run, not element by element: read, they are one borrow of the frame and one copy, so
/// a stated length beyond the frame allocates nothing.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

struct Run;

impl Visitor<'_> for Run {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_vec()))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(Run)
    }
}

/// A shared secret. It has no `Display`, and its `Debug` tells the length alone.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Token(Bytes);

/// As [`Token::matches`]: there is no other way to compare two.
impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        self.matches(other)
    }
}

impl Eq for Token {}

impl Token {
    /// Bytes that a token has at least where one is required.
    pub const MIN: usize = 16;
    /// Bytes that a token has at most.
    pub const MAX: usize = 256;

    /// A token of these bytes; of none where none is required.
    #[must_use]
    pub const fn new(bytes: Vec<u8>) -> Self {
        Self(Bytes(bytes))
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.0.len()
    }

    /// Whether it is no token.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both are the same, in a time that depends on the lengths alone.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        let differences = self.0.0.iter().zip(&other.0.0).fold(0, |all, (ours, theirs)| {
            // Hidden from the optimiser, which could leave early once it is not zero.
            core::hint::black_box(all | (ours ^ theirs))
        });
        self.len() == other.len() && differences == 0
    }
}
