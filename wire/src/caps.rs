//! Caps: what a server can do, as one blob with a generation.
//!
//! The blob is the head, the limits, the format table and the texts, one behind the other and nothing else;
//! it is what `GetCaps` answers and what a server publishes in its page. The first real blob has generation 1
//! or more. Until then a placeholder of generation 0 answers, and nothing may be derived from it for good.
//!
//! Limits are named for GL's implementation-dependent values (OpenGL ES 3.2 section 21, OpenGL 4.6 section
//! 23); arrays by stage are in the order of [`StageMask`](crate::values::StageMask).

use crate::catalogue::{Answer, AnswerInfo};
use crate::error::Refusal;
use crate::payload::{CAPS_TEXTS, Member};
pub use crate::payload::{CapsHead, CapsLimits, FormatCaps};
use crate::record::{check_elements, check_payload};
use zerocopy::{FromBytes, IntoBytes};

/// A part is missing, or something follows the last one.
const SHORT: Refusal = Refusal::Corrupt { owner: CapsHead::NAME, field: "size" };

/// Answer: the caps blob.
#[derive(Clone, Copy, Debug)]
pub struct Caps;

impl Answer for Caps {
    const ANSWER: AnswerInfo = AnswerInfo { name: "caps", layout: None };
}

/// The parts of a caps blob, borrowed: the one way to read one and to write one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapsView<'a> {
    /// Its counts and sizes are those of the other parts, so nobody else may change it.
    head: CapsHead,
    limits: &'a CapsLimits,
    formats: &'a [FormatCaps],
    /// In the order of [`CapsHead::text_sizes`].
    texts: [&'a str; CAPS_TEXTS],
}

/// The texts of a caps blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapsTexts<'a> {
    /// `VENDOR`.
    pub vendor: &'a str,
    /// `RENDERER`.
    pub renderer: &'a str,
    /// `VERSION`.
    pub version: &'a str,
    /// `SHADING_LANGUAGE_VERSION`.
    pub shading_language_version: &'a str,
    /// Names of extensions, separated by spaces.
    pub extensions: &'a str,
    /// Version of the native API and its driver, for logs.
    pub native_version: &'a str,
}

impl<'a> CapsView<'a> {
    /// Caps of these parts; counts and sizes of `head` are filled in. `None` when a part is over its limit.
    #[must_use]
    pub fn new(
        mut head: CapsHead,
        limits: &'a CapsLimits,
        formats: &'a [FormatCaps],
        texts: &CapsTexts<'a>,
    ) -> Option<Self> {
        let texts = [
            texts.vendor,
            texts.renderer,
            texts.version,
            texts.shading_language_version,
            texts.extensions,
            texts.native_version,
        ];
        head.format_count = u32::try_from(formats.len()).ok()?;
        for (size, text) in head.text_sizes.iter_mut().zip(texts) {
            *size = u32::try_from(text.len()).ok()?;
        }
        head.check().ok()?;
        Some(Self { head, limits, formats, texts })
    }

    /// Reads a blob. `bytes` begins at a multiple of 8, and no peer can write it.
    ///
    /// # Errors
    /// The refusal that names the first bad part: `CapsHead.Size` when a part is missing or anything follows
    /// the last one, `CapsHead.TextSizes` when a text is not UTF-8.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let (head, rest) = CapsHead::ref_from_prefix(bytes).map_err(|_| SHORT)?;
        check_payload::<_, Refusal>(head, CapsHead::NAME)?;
        let (limits, rest) = CapsLimits::ref_from_prefix(rest).map_err(|_| SHORT)?;
        let (formats, mut rest) =
            <[FormatCaps]>::ref_from_prefix_with_elems(rest, head.format_count as usize)
                .map_err(|_| Refusal::Corrupt { owner: CapsHead::NAME, field: "format_count" })?;
        check_elements::<_, Refusal>(formats)?;
        let mut texts = [""; CAPS_TEXTS];
        for (text, size) in texts.iter_mut().zip(head.text_sizes) {
            let (bytes, behind) = rest.split_at_checked(size as usize).ok_or(SHORT)?;
            *text = core::str::from_utf8(bytes)
                .map_err(|_| Refusal::Corrupt { owner: CapsHead::NAME, field: "text_sizes" })?;
            rest = behind;
        }
        if !rest.is_empty() {
            return Err(SHORT);
        }
        Ok(Self { head: *head, limits, formats, texts })
    }

    /// The head.
    #[must_use]
    pub const fn head(&self) -> &CapsHead {
        &self.head
    }

    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> &'a CapsLimits {
        self.limits
    }

    /// The format table.
    #[must_use]
    pub const fn formats(&self) -> &'a [FormatCaps] {
        self.formats
    }

    /// The texts.
    #[must_use]
    pub const fn texts(&self) -> CapsTexts<'a> {
        let [vendor, renderer, version, shading_language_version, extensions, native_version] = self.texts;
        CapsTexts { vendor, renderer, version, shading_language_version, extensions, native_version }
    }

    /// Bytes of the blob.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        let texts: usize = self.texts.iter().map(|text| text.len()).sum();
        size_of::<CapsHead>() + size_of::<CapsLimits>() + size_of_val(self.formats) + texts
    }

    /// Writes the blob. `out` is [`CapsView::encoded_len`] bytes long; otherwise the answer is `false`.
    #[must_use]
    pub fn encode(&self, out: &mut [u8]) -> bool {
        if out.len() != self.encoded_len() {
            return false;
        }
        let mut rest = out;
        let parts = [self.head.as_bytes(), self.limits.as_bytes(), self.formats.as_bytes()];
        for part in parts.into_iter().chain(self.texts.map(str::as_bytes)) {
            let (place, behind) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = behind;
        }
        true
    }
}
