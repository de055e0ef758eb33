//! Configs: queries, matching and sorting (section 3.4).

use std::cmp::Reverse;

use super::{
    error::{Error, Outcome},
    names as egl,
};

/// A config, as a server states it. All of them have RGB colour buffers and draw OpenGL ES 2.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The server's number of it, and `EGL_CONFIG_ID`; not 0.
    pub id: i32,
    /// Bits of red.
    pub red: i32,
    /// Bits of green.
    pub green: i32,
    /// Bits of blue.
    pub blue: i32,
    /// Bits of alpha.
    pub alpha: i32,
    /// Bits of depth.
    pub depth: i32,
    /// Bits of stencil.
    pub stencil: i32,
    /// Samples of a pixel; 0 for no multisampling.
    pub samples: i32,
    /// Whether it is slow.
    pub slow: bool,
    /// Identity of the native visual; 0 for none.
    pub native_visual_id: i32,
    /// Class of the native visual; `EGL_NONE` for none.
    pub native_visual_type: i32,
    /// Whether native rendering into its windows is possible.
    pub native_renderable: bool,
    /// Whether it is for windows.
    pub window: bool,
    /// Whether it is for pbuffers.
    pub pbuffer: bool,
    /// Pixels of a pbuffer along x at most.
    pub max_pbuffer_width: i32,
    /// Pixels of a pbuffer along y at most.
    pub max_pbuffer_height: i32,
    /// Smallest swap interval.
    pub min_swap_interval: i32,
    /// Largest swap interval.
    pub max_swap_interval: i32,
}

impl Config {
    /// Bits of the colour buffer.
    #[must_use]
    pub const fn buffer_size(&self) -> i32 {
        self.red + self.green + self.blue + self.alpha
    }

    /// Surfaces that it is for, as a mask.
    #[must_use]
    pub const fn surface_type(&self) -> i32 {
        (if self.window { egl::WINDOW_BIT } else { 0 }) | if self.pbuffer { egl::PBUFFER_BIT } else { 0 }
    }

    /// An attribute of table 3.1.
    ///
    /// # Errors
    /// [`Error::BadAttribute`].
    pub fn get(&self, attribute: i32) -> Outcome<i32> {
        Ok(match attribute {
            egl::BUFFER_SIZE => self.buffer_size(),
            egl::ALPHA_SIZE => self.alpha,
            egl::BLUE_SIZE => self.blue,
            egl::GREEN_SIZE => self.green,
            egl::RED_SIZE => self.red,
            egl::DEPTH_SIZE => self.depth,
            egl::STENCIL_SIZE => self.stencil,
            egl::CONFIG_CAVEAT if self.slow => egl::SLOW_CONFIG,
            egl::CONFIG_CAVEAT | egl::TRANSPARENT_TYPE => egl::NONE,
            egl::CONFIG_ID => self.id,
            egl::MAX_PBUFFER_HEIGHT => self.max_pbuffer_height,
            egl::MAX_PBUFFER_PIXELS => self.max_pbuffer_width.saturating_mul(self.max_pbuffer_height),
            egl::MAX_PBUFFER_WIDTH => self.max_pbuffer_width,
            egl::NATIVE_RENDERABLE => self.native_renderable.into(),
            egl::NATIVE_VISUAL_ID => self.native_visual_id,
            egl::NATIVE_VISUAL_TYPE => self.native_visual_type,
            egl::SAMPLES => self.samples,
            egl::SAMPLE_BUFFERS => (self.samples != 0).into(),
            egl::SURFACE_TYPE => self.surface_type(),
            egl::MIN_SWAP_INTERVAL => self.min_swap_interval,
            egl::MAX_SWAP_INTERVAL => self.max_swap_interval,
            egl::COLOR_BUFFER_TYPE => egl::RGB_BUFFER,
            egl::RENDERABLE_TYPE => egl::OPENGL_ES2_BIT,
            // No conformance suite has passed here.
            egl::CONFORMANT
            | egl::LEVEL
            | egl::TRANSPARENT_RED_VALUE
            | egl::TRANSPARENT_GREEN_VALUE
            | egl::TRANSPARENT_BLUE_VALUE
            | egl::BIND_TO_TEXTURE_RGB
            | egl::BIND_TO_TEXTURE_RGBA
            | egl::LUMINANCE_SIZE
            | egl::ALPHA_MASK_SIZE => 0,
            _ => return Err(Error::BadAttribute),
        })
    }

    /// Whether surfaces of another config can be current with contexts of this one (section 2.2).
    #[must_use]
    pub const fn is_compatible(&self, other: &Self) -> bool {
        self.red == other.red
            && self.green == other.green
            && self.blue == other.blue
            && self.alpha == other.alpha
            && self.depth == other.depth
            && self.stencil == other.stencil
            && self.samples == other.samples
    }
}

/// How an attribute selects (table 3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selection {
    AtLeast,
    Exact,
    Mask,
    /// May be asked for, and selects nothing.
    Ignored,
}

/// Attribute, how it selects, what holds where it is not stated.
const CRITERIA: &[(i32, Selection, i32)] = {
    use Selection::{AtLeast, Exact, Ignored, Mask};
    &[
        (egl::BUFFER_SIZE, AtLeast, 0),
        (egl::RED_SIZE, AtLeast, 0),
        (egl::GREEN_SIZE, AtLeast, 0),
        (egl::BLUE_SIZE, AtLeast, 0),
        (egl::LUMINANCE_SIZE, AtLeast, 0),
        (egl::ALPHA_SIZE, AtLeast, 0),
        (egl::ALPHA_MASK_SIZE, AtLeast, 0),
        (egl::BIND_TO_TEXTURE_RGB, Exact, egl::DONT_CARE),
        (egl::BIND_TO_TEXTURE_RGBA, Exact, egl::DONT_CARE),
        (egl::COLOR_BUFFER_TYPE, Exact, egl::RGB_BUFFER),
        (egl::CONFIG_CAVEAT, Exact, egl::DONT_CARE),
        (egl::CONFIG_ID, Exact, egl::DONT_CARE),
        (egl::CONFORMANT, Mask, 0),
        (egl::DEPTH_SIZE, AtLeast, 0),
        (egl::LEVEL, Exact, 0),
        (egl::MAX_PBUFFER_WIDTH, Ignored, 0),
        (egl::MAX_PBUFFER_HEIGHT, Ignored, 0),
        (egl::MAX_PBUFFER_PIXELS, Ignored, 0),
        (egl::MAX_SWAP_INTERVAL, Exact, egl::DONT_CARE),
        (egl::MIN_SWAP_INTERVAL, Exact, egl::DONT_CARE),
        (egl::NATIVE_RENDERABLE, Exact, egl::DONT_CARE),
        (egl::NATIVE_VISUAL_ID, Ignored, 0),
        (egl::NATIVE_VISUAL_TYPE, Exact, egl::DONT_CARE),
        (egl::RENDERABLE_TYPE, Mask, egl::OPENGL_ES_BIT),
        (egl::SAMPLE_BUFFERS, AtLeast, 0),
        (egl::SAMPLES, AtLeast, 0),
        (egl::STENCIL_SIZE, AtLeast, 0),
        (egl::SURFACE_TYPE, Mask, egl::WINDOW_BIT),
        (egl::TRANSPARENT_TYPE, Exact, egl::NONE),
        (egl::TRANSPARENT_RED_VALUE, Exact, egl::DONT_CARE),
        (egl::TRANSPARENT_GREEN_VALUE, Exact, egl::DONT_CARE),
        (egl::TRANSPARENT_BLUE_VALUE, Exact, egl::DONT_CARE),
    ]
};

/// What `eglChooseConfig` is asked for.
#[derive(Clone, Debug)]
struct Request {
    /// A value for each of [`CRITERIA`].
    values: Vec<i32>,
}

impl Request {
    /// From a list of attributes and values; one that comes twice counts as it came last.
    fn new(list: &[(i32, i32)]) -> Outcome<Self> {
        let mut values: Vec<i32> = CRITERIA.iter().map(|(.., default)| *default).collect();
        for &(attribute, value) in list {
            if attribute == egl::MATCH_NATIVE_PIXMAP {
                // There are no pixmap surfaces, so there is no pixmap to match.
                if value != egl::NONE {
                    return Err(Error::BadAttribute);
                }
                continue;
            }
            let at = CRITERIA.iter().position(|(known, ..)| *known == attribute);
            let wanted = at.and_then(|at| values.get_mut(at)).ok_or(Error::BadAttribute)?;
            if !is_valid(attribute, value) {
                return Err(Error::BadAttribute);
            }
            *wanted = value;
        }
        Ok(Self { values })
    }

    fn value(&self, attribute: i32) -> i32 {
        let at = CRITERIA.iter().position(|(known, ..)| *known == attribute);
        at.and_then(|at| self.values.get(at)).copied().unwrap_or(egl::DONT_CARE)
    }

    fn selects(&self, config: &Config) -> bool {
        // Where one is named, nothing else counts (section 3.4.1).
        let id = self.value(egl::CONFIG_ID);
        if id != egl::DONT_CARE {
            return config.id == id;
        }
        CRITERIA.iter().zip(&self.values).all(|(&(attribute, selection, _), &wanted)| {
            if wanted == egl::DONT_CARE {
                return true;
            }
            let Ok(value) = config.get(attribute) else { return false };
            match selection {
                Selection::AtLeast => value >= wanted,
                // Values of a colour that is transparent count only where there is one.
                Selection::Exact
                    if matches!(
                        attribute,
                        egl::TRANSPARENT_RED_VALUE
                            | egl::TRANSPARENT_GREEN_VALUE
                            | egl::TRANSPARENT_BLUE_VALUE
                    ) =>
                {
                    self.value(egl::TRANSPARENT_TYPE) != egl::TRANSPARENT_RGB || value == wanted
                }
                Selection::Exact => value == wanted,
                Selection::Mask => value & wanted == wanted,
                Selection::Ignored => true,
            }
        })
    }

    /// Bits of the components that were asked for: more come first (section 3.4.1.2, rule 3).
    fn color_bits(&self, config: &Config) -> i32 {
        [
            (egl::RED_SIZE, config.red),
            (egl::GREEN_SIZE, config.green),
            (egl::BLUE_SIZE, config.blue),
            (egl::ALPHA_SIZE, config.alpha),
        ]
        .into_iter()
        .filter(|(attribute, _)| !matches!(self.value(*attribute), 0 | egl::DONT_CARE))
        .map(|(_, bits)| bits)
        .sum()
    }
}

/// Whether an attribute may be asked for with a value (section 3.4.1).
fn is_valid(attribute: i32, value: i32) -> bool {
    let is_switch = |value| matches!(value, egl::TRUE | egl::FALSE | egl::DONT_CARE);
    match attribute {
        // May be negative: an overlay or underlay.
        egl::LEVEL => value != egl::DONT_CARE,
        egl::BIND_TO_TEXTURE_RGB | egl::BIND_TO_TEXTURE_RGBA | egl::NATIVE_RENDERABLE => is_switch(value),
        egl::COLOR_BUFFER_TYPE => {
            matches!(value, egl::RGB_BUFFER | egl::LUMINANCE_BUFFER | egl::DONT_CARE)
        }
        egl::CONFIG_CAVEAT => {
            matches!(value, egl::NONE | egl::SLOW_CONFIG | egl::NON_CONFORMANT_CONFIG | egl::DONT_CARE)
        }
        egl::TRANSPARENT_TYPE => matches!(value, egl::NONE | egl::TRANSPARENT_RGB | egl::DONT_CARE),
        _ => value >= egl::DONT_CARE,
    }
}

/// The configs that a request selects, in the order of section 3.4.1.2.
///
/// # Errors
/// [`Error::BadAttribute`].
pub fn choose<'a>(configs: &'a [Config], list: &[(i32, i32)]) -> Outcome<Vec<&'a Config>> {
    let request = Request::new(list)?;
    let mut chosen: Vec<&Config> = configs.iter().filter(|config| request.selects(config)).collect();
    // All are RGB and without alpha masks, and types of native visuals have no order here.
    chosen.sort_by_key(|config| {
        (
            config.slow,
            Reverse(request.color_bits(config)),
            config.buffer_size(),
            config.samples != 0,
            config.samples,
            config.depth,
            config.stencil,
            config.id,
        )
    });
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(id: i32, [red, green, blue, alpha]: [i32; 4], depth: i32, stencil: i32) -> Config {
        Config {
            id,
            red,
            green,
            blue,
            alpha,
            depth,
            stencil,
            window: true,
            pbuffer: true,
            native_visual_type: egl::NONE,
            ..Config::default()
        }
    }

    fn chosen(configs: &[Config], list: &[(i32, i32)]) -> Vec<i32> {
        let es2 = [&[(egl::RENDERABLE_TYPE, egl::OPENGL_ES2_BIT)], list].concat();
        choose(configs, &es2).unwrap().iter().map(|config| config.id).collect()
    }

    #[test]
    fn more_bits_of_what_was_asked_for_come_first_and_fewer_of_the_rest() {
        let configs = [
            config(1, [8, 8, 8, 8], 24, 8),
            config(2, [8, 8, 8, 0], 24, 8),
            config(3, [5, 6, 5, 0], 0, 0),
            config(4, [8, 8, 8, 0], 0, 0),
            config(5, [10, 10, 10, 2], 24, 8),
        ];
        assert_eq!(chosen(&configs, &[]), [3, 4, 2, 1, 5], "nothing asked for: the smallest buffer first");
        assert_eq!(chosen(&configs, &[(egl::RED_SIZE, 1)]), [5, 4, 2, 1, 3], "the deepest red first");
        let rgba = [(egl::RED_SIZE, 1), (egl::GREEN_SIZE, 1), (egl::BLUE_SIZE, 1), (egl::ALPHA_SIZE, 1)];
        assert_eq!(chosen(&configs, &rgba), [1, 5], "32 bits each, so by depth, stencil and number");
        assert_eq!(chosen(&configs, &[(egl::DEPTH_SIZE, 1)]), [2, 1, 5]);
        assert_eq!(chosen(&configs, &[(egl::BUFFER_SIZE, 25)]), [1, 5]);
    }

    #[test]
    fn slow_and_multisampled_ones_come_last() {
        let slow = Config { slow: true, ..config(1, [8, 8, 8, 8], 0, 0) };
        let samples = Config { samples: 4, ..config(2, [8, 8, 8, 8], 0, 0) };
        let plain = config(3, [8, 8, 8, 8], 24, 8);
        let configs = [slow, samples, plain];
        assert_eq!(chosen(&configs, &[]), [3, 2, 1]);
        assert_eq!(chosen(&configs, &[(egl::SAMPLES, 1)]), [2]);
        assert_eq!(chosen(&configs, &[(egl::SAMPLE_BUFFERS, 1)]), [2]);
        assert_eq!(chosen(&configs, &[(egl::CONFIG_CAVEAT, egl::NONE)]), [3, 2]);
    }

    #[test]
    fn masks_exact_values_and_ignored_ones_select_as_the_table_says() {
        let pbuffer = Config { window: false, ..config(1, [8, 8, 8, 8], 0, 0) };
        let configs = [pbuffer, config(2, [8, 8, 8, 8], 0, 0)];
        assert_eq!(chosen(&configs, &[]), [2], "windows by default");
        assert_eq!(chosen(&configs, &[(egl::SURFACE_TYPE, egl::PBUFFER_BIT)]), [1, 2]);
        assert_eq!(chosen(&configs, &[(egl::SURFACE_TYPE, egl::PIXMAP_BIT)]), [0; 0]);
        assert_eq!(chosen(&configs, &[(egl::SURFACE_TYPE, egl::DONT_CARE)]), [1, 2]);
        assert_eq!(chosen(&configs, &[(egl::LEVEL, 1)]), [0; 0]);
        assert_eq!(chosen(&configs, &[(egl::MAX_PBUFFER_WIDTH, 1 << 30)]), [2], "ignored");
        assert_eq!(chosen(&configs, &[(egl::TRANSPARENT_RED_VALUE, 7)]), [2], "without a transparent type");
        assert_eq!(chosen(&configs, &[(egl::CONFIG_ID, 1), (egl::RED_SIZE, 16)]), [1], "the number alone");
        assert_eq!(chosen(&configs, &[(egl::RED_SIZE, 16), (egl::RED_SIZE, 8)]), [2], "the last one counts");
        assert_eq!(choose(&configs, &[]), Ok(vec![]), "OpenGL ES 1 by default, which there is none of");
    }

    #[test]
    fn what_is_no_attribute_or_value_is_refused() {
        for bad in [
            (egl::NONE, 0),
            (0x1234, 0),
            (egl::RED_SIZE, -2),
            (egl::LEVEL, egl::DONT_CARE),
            (egl::COLOR_BUFFER_TYPE, 7),
            (egl::CONFIG_CAVEAT, 7),
            (egl::BIND_TO_TEXTURE_RGB, 2),
            (egl::MATCH_NATIVE_PIXMAP, 12),
        ] {
            assert_eq!(choose(&[], &[bad]), Err(Error::BadAttribute), "{bad:?}");
        }
    }

    #[test]
    fn every_criterion_is_an_attribute_of_a_config() {
        for (attribute, ..) in CRITERIA {
            Config::default().get(*attribute).unwrap();
        }
        assert_eq!(Config::default().get(egl::MATCH_NATIVE_PIXMAP), Err(Error::BadAttribute));
    }
}
