//! The layout fingerprint: a digest of everything on which two peers must agree before they exchange a
//! record.
//!
//! It is computed at compile time, with FNV-1a over 64 bits. It detects mistakes, not attacks: a peer that
//! lies about its fingerprint is met by the decoder. It digests
//!
//! - of every payload, tail element and blob layout: name, size, alignment, and each member's name, offset
//!   and size, with the numbers of its value type. A digest of sizes alone would not see two members change
//!   places;
//! - of every row: number, name, class, wait class, flags, tails with their counts and limits, blobs, answer,
//!   and whether it is retired;
//! - the record header, the reply space and the byte order. Integers are native-endian, so peers of different
//!   byte order refuse each other at the handshake instead of failing to compile.
//!
//! Pointer width is left out: no layout depends on it.

use crate::catalogue::{RowInfo, Standing};
use crate::payload::{MemberInfo, Payload, Shape, StructInfo};
use crate::values::{ValueForm, ValueInfo};

/// A digest in the making.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Digest {
    /// The empty digest (FNV-1a's offset basis).
    #[must_use]
    pub const fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    /// The finished digest.
    #[must_use]
    pub const fn finish(self) -> u64 {
        self.0
    }

    /// Adds a number.
    #[must_use]
    pub const fn number(self, number: u64) -> Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Adds a text with its length, so that neighbouring texts cannot flow into each other.
    #[must_use]
    pub const fn text(self, text: &str) -> Self {
        self.number(text.len() as u64).bytes(text.as_bytes())
    }

    const fn bytes(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() {
            self.0 = (self.0 ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01B3);
            at += 1;
        }
        self
    }

    const fn value(mut self, info: &ValueInfo) -> Self {
        self = self.text(info.name).number(match info.form {
            ValueForm::Enum => 0,
            ValueForm::Mask => 1,
        });
        let mut at = 0;
        while at < info.numbers.len() {
            self = self.text(info.numbers[at].0).number(info.numbers[at].1 as u64);
            at += 1;
        }
        self
    }

    const fn shape(self, shape: &Shape) -> Self {
        match shape {
            Shape::Plain { name } => self.number(1).text(name),
            Shape::Handle => self.number(2),
            Shape::Blob => self.number(3),
            Shape::Value { size, info } => self.number(4).number(*size as u64).value(info),
            Shape::Array { count, size, item } => {
                self.number(5).number(*count as u64).number(*size as u64).shape(item)
            }
            Shape::Struct(info) => self.number(6).layout(info),
        }
    }

    const fn member(self, member: &MemberInfo) -> Self {
        self.text(member.name).number(member.offset as u64).number(member.size as u64).shape(&member.shape)
    }

    /// Adds a struct's layout.
    #[must_use]
    pub const fn layout(mut self, info: &StructInfo) -> Self {
        self = self.text(info.name).number(info.size as u64).number(info.align as u64);
        let mut at = 0;
        while at < info.members.len() {
            self = self.member(&info.members[at]);
            at += 1;
        }
        self
    }

    const fn row(mut self, row: &RowInfo) -> Self {
        self = self.number(row.op as u64).text(row.name);
        if let Standing::Retired { .. } = row.standing {
            return self.number(0);
        }
        self = self.number(1).number(row.class as u64).number(row.wait as u64).number(row.flags.raw() as u64);
        if let Some(payload) = row.payload {
            self = self.layout(payload);
        }
        let mut at = 0;
        while at < row.tails.len() {
            let tail = &row.tails[at];
            self = self.text(tail.name).text(tail.count).number(tail.max as u64).number(tail.size as u64);
            self = self.number(tail.align as u64).shape(&tail.element);
            at += 1;
        }
        at = 0;
        while at < row.blobs.len() {
            let blob = &row.blobs[at];
            self = self.text(blob.name).number(blob.count as u64).number(blob.optional as u64);
            at += 1;
        }
        if let Some(answer) = row.answer {
            self = self.text(answer.name);
            if let Some(layout) = answer.layout {
                self = self.layout(layout);
            }
        }
        self
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

/// Fingerprint of one catalogue. Generated catalogues hold it as `FINGERPRINT`.
#[must_use]
pub const fn catalogue(name: &str, revision: u32, rows: &[RowInfo]) -> u64 {
    let mut digest = Digest::new()
        .text(name)
        .number(revision as u64)
        .number(cfg!(target_endian = "little") as u64)
        .text(crate::record::HEADER_LAYOUT)
        .layout(crate::handle::HANDLE)
        .layout(crate::record::ReplySpace::INFO)
        .layout(crate::bulk::BLOB_REF);
    let mut at = 0;
    while at < rows.len() {
        digest = digest.row(&rows[at]);
        at += 1;
    }
    digest.finish()
}

/// Fingerprint of a session of this crate's own catalogues: commands, events, the caps blob, the layouts that
/// travel inside blobs, and the revision of the control plane's messages. Both peers state it in the
/// handshake.
#[must_use]
pub const fn session(control_revision: u32) -> u64 {
    let mut digest = Digest::new()
        .number(crate::pipe::FINGERPRINT)
        .number(crate::event::FINGERPRINT)
        .number(control_revision as u64);
    let mut at = 0;
    while at < crate::payload::BLOB_LAYOUTS.len() {
        digest = digest.layout(crate::payload::BLOB_LAYOUTS[at]);
        at += 1;
    }
    digest.finish()
}
