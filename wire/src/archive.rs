//! The reflection archive: what a server and an application want to know of a program, as one blob.
//!
//! The blob is the head, the uniforms, the interface variables, the blocks and the texts, one behind the other and
//! nothing else. It travels with [`CreateShaderState`](crate::pipe::Op::CreateShaderState), beside the modules. The
//! [binding model](crate::binding) says how a module's resources are numbered.
//!
//! # The image of the default block
//!
//! Values outside blocks lie in one image, laid out as std140 (OpenGL 4.6 section 7.6.2.2) in the order of the archive:
//! a server of either dialect reads the same bytes. A truth value is 0 or 1 in 32 bits.
//!
//! Source: OpenGL 4.6 sections 7.3.1 (program interfaces) and 7.6 (uniform variables).

use core::ops::Range;

use crate::error::Refusal;
use crate::payload::Member;
pub use crate::payload::{ArchiveBlock, ArchiveHead, ArchiveInterface, ArchiveUniform, TextSpan};
use crate::record::{check_elements, check_payload};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A part is missing, or something follows the last one.
const SHORT: Refusal = Refusal::Corrupt { owner: ArchiveHead::NAME, field: "size" };

/// The parts of an archive, borrowed: the one way to read one and to write one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArchiveView<'a> {
    /// Its counts are those of the other parts, so nobody else may change it.
    head: ArchiveHead,
    uniforms: &'a [ArchiveUniform],
    interfaces: &'a [ArchiveInterface],
    blocks: &'a [ArchiveBlock],
    texts: &'a str,
}

impl<'a> ArchiveView<'a> {
    /// An archive of these parts; the counts of `head` are filled in.
    ///
    /// # Errors
    /// As [`ArchiveView::parse`].
    pub fn new(
        mut head: ArchiveHead,
        uniforms: &'a [ArchiveUniform],
        interfaces: &'a [ArchiveInterface],
        blocks: &'a [ArchiveBlock],
        texts: &'a str,
    ) -> Result<Self, Refusal> {
        let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
        head.uniform_count = count(uniforms.len());
        head.interface_count = count(interfaces.len());
        head.block_count = count(blocks.len());
        head.text_size = count(texts.len());
        Self { head, uniforms, interfaces, blocks, texts }.checked()
    }

    /// Reads a blob. `bytes` begins at a multiple of 8, and no peer can write it.
    ///
    /// # Errors
    /// The refusal that names the first bad part: `ArchiveHead.Size` when a part is missing or anything follows the
    /// last one, `ArchiveHead.TextSize` when the texts are not UTF-8, and the member that names a text which is not
    /// there, a path that is none, or bytes outside of the image's limit.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let (head, rest) = ArchiveHead::ref_from_prefix(bytes).map_err(|_| SHORT)?;
        check_payload::<_, Refusal>(head, ArchiveHead::NAME)?;
        let (uniforms, rest) = part(rest, head.uniform_count)?;
        let (interfaces, rest) = part(rest, head.interface_count)?;
        let (blocks, rest) = part(rest, head.block_count)?;
        if rest.len() != head.text_size as usize {
            return Err(SHORT);
        }
        let texts = core::str::from_utf8(rest)
            .map_err(|_| Refusal::Corrupt { owner: ArchiveHead::NAME, field: "text_size" })?;
        Self { head: *head, uniforms, interfaces, blocks, texts }.checked()
    }

    fn checked(self) -> Result<Self, Refusal> {
        check_payload::<_, Refusal>(&self.head, ArchiveHead::NAME)?;
        check_elements::<_, Refusal>(self.uniforms)?;
        check_elements::<_, Refusal>(self.interfaces)?;
        check_elements::<_, Refusal>(self.blocks)?;
        let bad = |owner, field| Err(Refusal::Corrupt { owner, field });
        for uniform in self.uniforms {
            if self.span(uniform.name).is_none() {
                return bad(ArchiveUniform::NAME, "name");
            }
            if !self.span(uniform.path).is_some_and(is_path) {
                return bad(ArchiveUniform::NAME, "path");
            }
            if uniform.image().is_none() {
                return bad(ArchiveUniform::NAME, "offset");
            }
            if uniform.location.checked_add(uniform.array_size).is_none() {
                return bad(ArchiveUniform::NAME, "location");
            }
        }
        for interface in self.interfaces {
            if self.span(interface.name).is_none() {
                return bad(ArchiveInterface::NAME, "name");
            }
        }
        for block in self.blocks {
            if self.span(block.name).is_none() {
                return bad(ArchiveBlock::NAME, "name");
            }
        }
        Ok(self)
    }

    fn span(&self, span: TextSpan) -> Option<&'a str> {
        let start = span.offset as usize;
        self.texts.get(start..start.checked_add(span.size as usize)?)
    }

    /// The head.
    #[must_use]
    pub const fn head(&self) -> &ArchiveHead {
        &self.head
    }

    /// The uniforms.
    #[must_use]
    pub const fn uniforms(&self) -> &'a [ArchiveUniform] {
        self.uniforms
    }

    /// Inputs and outputs.
    #[must_use]
    pub const fn interfaces(&self) -> &'a [ArchiveInterface] {
        self.interfaces
    }

    /// The blocks.
    #[must_use]
    pub const fn blocks(&self) -> &'a [ArchiveBlock] {
        self.blocks
    }

    /// A text of this archive; empty for a span of another one.
    #[must_use]
    pub fn text(&self, span: TextSpan) -> &'a str {
        self.span(span).unwrap_or_default()
    }

    /// Bytes of the blob.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        size_of::<ArchiveHead>()
            + size_of_val(self.uniforms)
            + size_of_val(self.interfaces)
            + size_of_val(self.blocks)
            + self.texts.len()
    }

    /// Writes the blob. `out` is [`ArchiveView::encoded_len`] bytes long; otherwise the answer is `false`.
    #[must_use]
    pub fn encode(&self, out: &mut [u8]) -> bool {
        if out.len() != self.encoded_len() {
            return false;
        }
        let mut rest = out;
        for part in [
            self.head.as_bytes(),
            self.uniforms.as_bytes(),
            self.interfaces.as_bytes(),
            self.blocks.as_bytes(),
            self.texts.as_bytes(),
        ] {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        true
    }
}

/// So many elements from the front of what is left.
fn part<T: FromBytes + KnownLayout + Immutable>(bytes: &[u8], count: u32) -> Result<(&[T], &[u8]), Refusal> {
    <[T]>::ref_from_prefix_with_elems(bytes, count as usize).map_err(|_| SHORT)
}

/// Whether a text is a path: `.mN` and `[N]`, with plain decimal numbers.
fn is_path(mut text: &str) -> bool {
    while !text.is_empty() {
        let (rest, closed) = match (text.strip_prefix(".m"), text.strip_prefix('[')) {
            (Some(rest), _) => (rest, false),
            (_, Some(rest)) => (rest, true),
            _ => return false,
        };
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = rest.split_at(digits);
        let plain = number == "0" || !number.is_empty() && digits <= 5 && !number.starts_with('0');
        let behind = if closed { behind.strip_prefix(']') } else { Some(behind) };
        match behind {
            Some(behind) if plain => text = behind,
            _ => return false,
        }
    }
    true
}

impl ArchiveUniform {
    /// Bytes of the default block's image that a value takes, all elements and columns; empty for samplers and
    /// images. `None` when they reach beyond [`limits::GLOBAL_CONSTANTS_BYTES`](crate::limits::GLOBAL_CONSTANTS_BYTES)
    /// or the strides are smaller than what they step over.
    #[must_use]
    pub fn image(&self) -> Option<Range<usize>> {
        use crate::values::{ScalarType, UniformClass};
        if self.class()? != UniformClass::Value {
            return Some(0..0);
        }
        let scalar = if self.scalar()? == ScalarType::Double { 8 } else { 4 };
        let column = usize::from(self.rows) * scalar;
        let element = match self.columns {
            1 => column,
            _ if (self.matrix_stride as usize) < column => return None,
            columns => (usize::from(columns) - 1) * self.matrix_stride as usize + column,
        };
        let all = match self.array_size {
            1 => element,
            _ if (self.array_stride as usize) < element => return None,
            count => (count as usize - 1).checked_mul(self.array_stride as usize)?.checked_add(element)?,
        };
        let start = self.offset as usize;
        let end = start.checked_add(all)?;
        (end <= crate::limits::GLOBAL_CONSTANTS_BYTES as usize).then_some(start..end)
    }
}
