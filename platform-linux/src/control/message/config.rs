//! The configs of a server: what surfaces can be like (EGL 1.5 section 3.4).

use runahead_core::NativeConfig;
use serde::{Deserialize, Serialize};

use super::super::{Bytes, Corruption, check};

/// Configs of one server at most.
pub const CONFIGS: usize = 4096;

/// Bytes of them at most.
pub(crate) const CONFIGS_BYTES: usize = CONFIGS * BYTES;

/// 32-bit words of one config on its way.
const WORDS: usize = 9;
/// Bytes of one.
const BYTES: usize = WORDS * 4;

/// Bits of the word with the flags, above the three numbers that share it.
const WINDOW: u8 = 1;
const PBUFFER: u8 = 2;
const SLOW: u8 = 4;

/// The words of a config.
fn words(config: &NativeConfig) -> [u32; WORDS] {
    let flag = |on: bool, bit: u8| if on { bit } else { 0 };
    let flags = flag(config.window, WINDOW) | flag(config.pbuffer, PBUFFER) | flag(config.slow, SLOW);
    [
        config.id,
        u32::from_le_bytes([config.red, config.green, config.blue, config.alpha]),
        u32::from_le_bytes([config.depth, config.stencil, config.samples, flags]),
        config.native_visual_id,
        config.native_visual_type,
        config.min_swap_interval.cast_unsigned(),
        config.max_swap_interval.cast_unsigned(),
        config.max_pbuffer_width,
        config.max_pbuffer_height,
    ]
}

/// The config of these words; nothing when an unknown flag is set.
fn from_words(words: [u32; WORDS]) -> Option<NativeConfig> {
    let [id, colors, others, visual_id, visual_type, min, max, width, height] = words;
    let [red, green, blue, alpha] = colors.to_le_bytes();
    let [depth, stencil, samples, flags] = others.to_le_bytes();
    (flags & !(WINDOW | PBUFFER | SLOW) == 0).then_some(NativeConfig {
        id,
        red,
        green,
        blue,
        alpha,
        depth,
        stencil,
        samples,
        native_visual_id: visual_id,
        native_visual_type: visual_type,
        window: flags & WINDOW != 0,
        pbuffer: flags & PBUFFER != 0,
        slow: flags & SLOW != 0,
        min_swap_interval: min.cast_signed(),
        max_swap_interval: max.cast_signed(),
        max_pbuffer_width: width,
        max_pbuffer_height: height,
    })
}

/// The configs of the server, once, before its first caps: one behind the other, in ascending order of the ids, each as
/// nine little-endian 32-bit words. One run of bytes, so that a stated number of configs allocates nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configs {
    /// The words.
    pub bytes: Bytes,
}

impl Configs {
    /// These configs. Of several with one id, the first is taken; more than [`CONFIGS`] are cut.
    #[must_use]
    pub fn new(mut configs: Vec<NativeConfig>) -> Self {
        configs.sort_by_key(|config| config.id);
        configs.dedup_by_key(|config| config.id);
        configs.truncate(CONFIGS);
        let words = configs.iter().flat_map(words);
        Self { bytes: Bytes(words.flat_map(u32::to_le_bytes).collect()) }
    }

    /// Each config, or nothing in its place where it is none.
    fn read(&self) -> impl Iterator<Item = Option<NativeConfig>> {
        self.bytes.0.as_chunks::<BYTES>().0.iter().map(|bytes| {
            let mut words = [0; WORDS];
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
                *word = u32::from_le_bytes(*bytes);
            }
            from_words(words)
        })
    }

    /// The configs.
    #[must_use]
    pub fn configs(&self) -> Vec<NativeConfig> {
        self.read().flatten().collect()
    }

    /// Whether they are configs, in ascending order of the ids.
    pub(crate) fn check(&self) -> Result<(), Corruption> {
        let len = self.bytes.0.len();
        check(len.is_multiple_of(BYTES) && len <= CONFIGS * BYTES, "Configs", "bytes")?;
        let mut last = 0;
        for config in self.read() {
            let Some(config) = config else { return check(false, "Configs", "flags") };
            check(config.id > last, "Configs", "id")?;
            last = config.id;
        }
        Ok(())
    }
}
