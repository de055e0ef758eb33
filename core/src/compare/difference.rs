//! Where two states differ, found and printed by what the payloads say about themselves.

use core::fmt;

use runahead_wire::{
    payload::{MemberInfo, Shape, StructInfo},
    pipe::Op,
};

use super::{Field, Name, snapshot::Entry, visit::ShapeOf};
use crate::tracker::Family;

/// Whether a member is content: not padding, and no place in the stage.
fn is_content(name: &str, shape: &Shape) -> bool {
    let item = if let Shape::Array { item, .. } = shape { item } else { shape };
    !name.starts_with('_') && !matches!(item, Shape::Blob)
}

/// Members that are content, in so many bytes of items.
pub(super) fn members(item: &Shape, len: usize) -> usize {
    let of = match item {
        Shape::Struct(info) => {
            info.members.iter().filter(|member| is_content(member.name, &member.shape)).count()
        }
        _ => 1,
    };
    of * (len / size_of_item(item))
}

/// Bytes of an item. At least 1, so that a division is no question.
fn size_of_item(item: &Shape) -> usize {
    item.size().max(1)
}

/// The first member of no members of its own that differs, and its place; `at` is the place of the item.
fn leaf<'a>(item: &Shape, client: &'a [u8], server: &'a [u8], at: u32) -> Option<(u32, &'a [u8], &'a [u8])> {
    if client == server {
        return None;
    }
    let part = |part: &Shape, offset: usize, size: usize| {
        let (client, server) = (client.get(offset..offset + size)?, server.get(offset..offset + size)?);
        leaf(part, client, server, at + offset as u32)
    };
    match item {
        Shape::Struct(info) => info
            .members
            .iter()
            .filter(|member| is_content(member.name, &member.shape))
            .find_map(|member| part(&member.shape, member.offset, member.size)),
        Shape::Array { count, size, item } => (0..*count).find_map(|n| part(item, n * size, *size)),
        _ => Some((at, client, server)),
    }
}

/// What of a field differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// The member at this byte.
    Member { at: u32 },
    /// The number of items.
    Count,
    /// Whether there is such a field.
    Presence,
}

/// The first bytes of a value; all of them, where it is a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Value {
    bytes: [u8; 8],
    len: u32,
}

impl Value {
    fn new(all: &[u8]) -> Self {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = *from);
        Self { bytes, len: all.len() as u32 }
    }

    /// Writes the value as what it is; in hexadecimal, byte by byte, where that is not known.
    fn write(&self, item: Option<&Shape>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = self.bytes;
        let (half, word) = (u16::from_ne_bytes([b0, b1]), u32::from_ne_bytes([b0, b1, b2, b3]));
        match item {
            Some(Shape::Plain { name: "u8" } | Shape::Value { size: 1, .. }) => write!(f, "{b0}"),
            Some(Shape::Plain { name: "u16" } | Shape::Value { size: 2, .. }) => write!(f, "{half}"),
            Some(Shape::Plain { name: "u32" } | Shape::Value { .. }) => write!(f, "{word}"),
            Some(Shape::Plain { name: "u64" }) => write!(f, "{}", u64::from_ne_bytes(self.bytes)),
            Some(Shape::Plain { name: "i8" }) => write!(f, "{}", b0 as i8),
            Some(Shape::Plain { name: "i16" }) => write!(f, "{}", half as i16),
            Some(Shape::Plain { name: "i32" }) => write!(f, "{}", word as i32),
            Some(Shape::Plain { name: "i64" }) => write!(f, "{}", i64::from_ne_bytes(self.bytes)),
            // With its bits, because different NaNs and zeros look the same.
            Some(Shape::Plain { name: "f32" }) => write!(f, "{:?} ({word:#x})", f32::from_bits(word)),
            Some(Shape::Handle) => write!(f, "{word}:{}", u32::from_ne_bytes([b4, b5, b6, b7])),
            _ => {
                f.write_str("0x")?;
                for byte in self.bytes.iter().take(self.len as usize) {
                    write!(f, "{byte:02x}")?;
                }
                if self.len as usize > self.bytes.len() {
                    write!(f, "... ({} bytes)", self.len)
                } else {
                    Ok(())
                }
            }
        }
    }
}

/// Where something was compared.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) verb: Op,
    pub(super) record: u64,
}

/// The client's state is not what the server was told.
///
/// It prints as `FIELD[INDEX].MEMBER@VERB (record N): client VALUE, server VALUE`.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Family of the field.
    pub family: Family,
    /// The field.
    pub name: Name,
    /// Point of a window, attribute, or slot of an object.
    pub index: Option<u32>,
    /// The verb.
    pub verb: Op,
    /// Ordinal of its record.
    pub record: u64,
    /// What an item of the field is made of, where the server has the field.
    item: Option<&'static Shape>,
    /// Whether there may be several items.
    is_run: bool,
    what: What,
    client: Option<Value>,
    server: Option<Value>,
}

impl Difference {
    /// The first difference between what a client has as a field and the field, if any.
    pub(super) fn between(client: &[u8], server: &Field<'_>, at: At) -> Option<Self> {
        let size = size_of_item(server.item);
        let (what, client, server_value) = if client.len() == server.bytes.len() {
            let mut items = client.chunks(size).zip(server.bytes.chunks(size)).zip(0_u32..);
            let first = items.find_map(|((client, own), n)| leaf(server.item, client, own, n * size as u32));
            let (at, client, own) = first?;
            (What::Member { at }, Value::new(client), Value::new(own))
        } else {
            let count = |bytes: &[u8]| Value::new(&((bytes.len() / size) as u32).to_ne_bytes());
            (What::Count, count(client), count(server.bytes))
        };
        Some(Self { what, client: Some(client), server: Some(server_value), ..Self::missing(server, at) })
    }

    /// A field that the server alone has.
    pub(super) fn missing(server: &Field<'_>, at: At) -> Self {
        Self {
            family: server.family,
            name: server.name,
            index: server.index,
            verb: at.verb,
            record: at.record,
            item: Some(server.item),
            is_run: server.is_run,
            what: What::Presence,
            client: None,
            server: Some(Value::new(server.bytes)),
        }
    }

    /// A field that the client alone has.
    pub(super) fn extra(client: &Entry<'_>, at: At) -> Self {
        Self {
            family: client.family,
            name: client.name,
            index: client.index,
            verb: at.verb,
            record: at.record,
            item: None,
            is_run: false,
            what: What::Presence,
            client: Some(Value::new(client.bytes)),
            server: None,
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.text())?;
        if let Some(index) = self.index {
            write!(f, "[{index}]")?;
        }
        let shape = match (self.what, self.item) {
            (What::Member { at }, Some(item)) => Some(write_path(item, self.is_run, at as usize, f)?),
            (What::Count, _) => {
                f.write_str(".count")?;
                Some(ShapeOf::<u32>::SHAPE)
            }
            _ => None,
        };
        write!(f, "@{} (record {}): ", self.verb.name(), self.record)?;
        for (role, value, end) in [("client", self.client, ", "), ("server", self.server, "")] {
            write!(f, "{role} ")?;
            match value {
                Some(value) => value.write(shape, f)?,
                None => f.write_str("nothing")?,
            }
            f.write_str(end)?;
        }
        Ok(())
    }
}

impl core::error::Error for Difference {}

/// Writes the way from a field to its member at a byte. Answers what that is made of.
fn write_path(
    mut item: &'static Shape,
    is_run: bool,
    mut at: usize,
    f: &mut fmt::Formatter<'_>,
) -> Result<&'static Shape, fmt::Error> {
    if is_run {
        let size = size_of_item(item);
        write!(f, "[{}]", at / size)?;
        at %= size;
    }
    loop {
        match item {
            Shape::Struct(StructInfo { members, .. }) => {
                let inside =
                    |member: &&MemberInfo| (member.offset..member.offset + member.size).contains(&at);
                let Some(member) = members.iter().find(inside) else { return Ok(item) };
                write!(f, ".{}", member.name)?;
                at -= member.offset;
                item = &member.shape;
            }
            Shape::Array { size, item: part, .. } => {
                write!(f, "[{}]", at / size)?;
                at %= size;
                item = part;
            }
            _ => return Ok(item),
        }
    }
}
