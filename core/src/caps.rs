//! What the client knows of its server: one blob, replaced as a whole, that only ever takes away.

use runahead_wire::{
    Refusal,
    caps::{CapsHead, CapsLimits, CapsTexts, CapsView},
    payload::Member,
    values::CapsBits,
    zerocopy::transmute,
};

use crate::storage::{Bytes, Storage};

/// What a new blob changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Update {
    /// It is of the generation that was there.
    Unchanged,
    /// It is the first real one: what the session decides once is decided.
    First,
    /// It replaces an older one: everything derived from that is void.
    Replaced {
        /// Whether the client no longer runs ahead, though it did.
        demoted: bool,
    },
}

/// Why a blob was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateError {
    /// It is no valid blob, or older than the one that was there.
    Refused(Refusal),
    /// There is no memory for it.
    OutOfMemory,
}

impl core::fmt::Display for UpdateError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(f),
            Self::OutOfMemory => f.write_str("there is no memory for the caps of the server"),
        }
    }
}

impl core::error::Error for UpdateError {}

/// The caps as the client has them.
///
/// Before the first real blob a placeholder of generation 0 answers: the least that OpenGL ES 2.0 allows. It is
/// there so that an early question has an answer; nothing is decided by it for good.
///
/// Whether the client runs ahead is decided by the first real blob, and from then on only taken back: a later
/// blob that offers it again changes nothing, because records that were waited for do not become unwaited.
#[derive(Debug)]
pub struct CapsSnapshot<S: Storage> {
    blob: S::Bytes,
    generation: u64,
    wish: bool,
    run_ahead: bool,
}

impl<S: Storage> CapsSnapshot<S> {
    /// The placeholder, for a client that wishes to run ahead or not to.
    #[must_use]
    pub fn new(wish: bool) -> Self {
        Self { blob: S::Bytes::default(), generation: 0, wish, run_ahead: false }
    }

    /// The caps now.
    #[must_use]
    pub fn view(&self) -> CapsView<'_> {
        // A blob that was taken parses again; the placeholder otherwise.
        CapsView::parse(self.blob.as_ref()).unwrap_or_else(|_| placeholder())
    }

    /// Generation of the caps; 0 for the placeholder. Whatever is derived from caps keeps it, and is void when
    /// it moved.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// What the server can do.
    #[must_use]
    pub fn bits(&self) -> CapsBits {
        self.view().head().bits().unwrap_or(CapsBits::EMPTY)
    }

    /// Whether the client runs ahead.
    #[must_use]
    pub const fn runs_ahead(&self) -> bool {
        self.run_ahead
    }

    /// Stops running ahead, for good.
    pub const fn demote(&mut self) {
        self.run_ahead = false;
        self.wish = false;
    }

    /// Takes a blob from the server.
    ///
    /// # Errors
    /// [`UpdateError`]; the caps that were there stay.
    pub fn update(&mut self, blob: &[u8]) -> Result<Update, UpdateError> {
        let corrupt = |field| UpdateError::Refused(Refusal::Corrupt { owner: CapsHead::NAME, field });
        let mut aligned = S::Bytes::default();
        if !aligned.reset(blob.len()) {
            return Err(UpdateError::OutOfMemory);
        }
        aligned.as_mut().copy_from_slice(blob);
        let head = *CapsView::parse(aligned.as_ref()).map_err(UpdateError::Refused)?.head();
        if head.generation == 0 || head.generation < self.generation {
            return Err(corrupt("generation"));
        }
        if head.generation == self.generation {
            return Ok(Update::Unchanged);
        }
        let first = self.generation == 0;
        let offers = head.bits().is_some_and(|bits| bits.contains(CapsBits::RUN_AHEAD_APPLY));
        let before = self.run_ahead;
        self.run_ahead = offers && if first { self.wish } else { before };
        self.blob = aligned;
        self.generation = head.generation;
        Ok(if first { Update::First } else { Update::Replaced { demoted: before && !self.run_ahead } })
    }
}

/// Limits that every OpenGL ES 2.0 has (OpenGL ES 2.0.25 tables 6.18 to 6.20).
static PLACEHOLDER: CapsLimits = {
    let mut caps: CapsLimits = transmute!([0u8; size_of::<CapsLimits>()]);
    caps.aliased_line_width_range = [1.0, 1.0];
    caps.smooth_line_width_range = [1.0, 1.0];
    caps.point_size_range = [1.0, 1.0];
    caps.max_texture_max_anisotropy = 1.0;
    caps.max_viewports = 1;
    caps.max_viewport_dims = [64, 64];
    caps.subpixel_bits = 4;
    caps.max_texture_size = 64;
    caps.max_cube_map_texture_size = 16;
    caps.max_renderbuffer_size = 1;
    caps.max_color_attachments = 1;
    caps.max_draw_buffers = 1;
    caps.max_vertex_attribs = 8;
    caps.max_vertex_attrib_bindings = 8;
    caps.max_combined_texture_image_units = 8;
    caps
};

fn placeholder() -> CapsView<'static> {
    match CapsView::new(CapsHead::default(), &PLACEHOLDER, &[], &CapsTexts::default()) {
        Some(caps) => caps,
        // The parts are constants within their limits.
        None => unreachable!(),
    }
}
