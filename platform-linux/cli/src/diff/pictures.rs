//! Two pictures: whether they are the same, and how alike.

use std::{fmt, fs::File, io::BufReader, path::Path};

/// Pixels of an image at most.
const PIXELS: u64 = 1 << 28;

/// An image, four bytes a pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub pixels: Vec<u8>,
}

/// Reads a PNG of 8-bit RGBA, which is what `replay --images` writes.
pub fn read(file: &Path) -> Result<Picture, String> {
    let told = |error: &dyn fmt::Display| format!("{}: {error}", file.display());
    let decoder = png::Decoder::new(BufReader::new(File::open(file).map_err(|error| told(&error))?));
    let mut reader = decoder.read_info().map_err(|error| told(&error))?;
    let (width, height) = reader.info().size();
    if reader.output_color_type() != (png::ColorType::Rgba, png::BitDepth::Eight) {
        return Err(told(&"not an image of 8-bit RGBA"));
    }
    if u64::from(width) * u64::from(height) > PIXELS {
        return Err(told(&"the image is too large"));
    }
    let mut pixels = vec![0; reader.output_buffer_size().ok_or_else(|| told(&"the image is too large"))?];
    reader.next_frame(&mut pixels).map_err(|error| told(&error))?;
    Ok(Picture { width, height, pixels })
}

/// How two images compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Byte for byte.
    Equal,
    /// One side has no such image.
    Missing(&'static str),
    /// Their sizes.
    Size([(u32, u32); 2]),
    /// Some pixels.
    Pixels {
        /// Pixels that differ.
        pixels: u64,
        /// Largest difference of a component.
        most: u8,
        /// Structural similarity, 1 for the same.
        ssim: f64,
    },
}

impl Verdict {
    /// Whether there is no difference.
    pub const fn is_equal(&self) -> bool {
        matches!(self, Self::Equal)
    }

    /// Structural similarity, where both images have one size.
    pub const fn ssim(&self) -> Option<f64> {
        match self {
            Self::Equal => Some(1.0),
            Self::Pixels { ssim, .. } => Some(*ssim),
            _ => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::Missing(side) => write!(f, "{side} has no such image"),
            Self::Size([(aw, ah), (bw, bh)]) => write!(f, "a is {aw} x {ah}, b is {bw} x {bh}"),
            Self::Pixels { pixels, most, ssim } => {
                write!(f, "{pixels} pixels differ, by {most} at most; similarity {ssim:.4}")
            }
        }
    }
}

/// Compares two images.
pub fn compare(a: &Picture, b: &Picture) -> Verdict {
    if (a.width, a.height) != (b.width, b.height) {
        return Verdict::Size([(a.width, a.height), (b.width, b.height)]);
    }
    if a.pixels == b.pixels {
        return Verdict::Equal;
    }
    let both = || a.pixels.iter().zip(&b.pixels);
    let pixels = a.pixels.chunks(4).zip(b.pixels.chunks(4)).filter(|(a, b)| a != b).count() as u64;
    let most = both().map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
    Verdict::Pixels { pixels, most, ssim: ssim(a, b) }
}

/// Mean structural similarity of the luma, over windows of 8 x 8 (Wang et al. 2004, with a flat window).
fn ssim(a: &Picture, b: &Picture) -> f64 {
    const WINDOW: usize = 8;
    const C1: f64 = (0.01 * 255.0) * (0.01 * 255.0);
    const C2: f64 = (0.03 * 255.0) * (0.03 * 255.0);
    let luma = |image: &Picture| -> Vec<f64> {
        let weigh = |pixel: &[u8]| match *pixel {
            [r, g, b, _] => 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b),
            _ => 0.0,
        };
        image.pixels.chunks(4).map(weigh).collect()
    };
    let (one, other) = (luma(a), luma(b));
    let (width, height) = (a.width as usize, a.height as usize);
    let (mut sum, mut windows) = (0.0, 0.0);
    for top in (0..height).step_by(WINDOW) {
        for left in (0..width).step_by(WINDOW) {
            let (mut n, mut x, mut y, mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
            for row in top..(top + WINDOW).min(height) {
                for at in row * width + left..row * width + (left + WINDOW).min(width) {
                    let (p, q) = (one.get(at).copied().unwrap_or(0.0), other.get(at).copied().unwrap_or(0.0));
                    n += 1.0;
                    x += p;
                    y += q;
                    xx += p * p;
                    yy += q * q;
                    xy += p * q;
                }
            }
            let (mx, my) = (x / n, y / n);
            let (vx, vy, cov) = (xx / n - mx * mx, yy / n - my * my, xy / n - mx * my);
            sum += ((2.0 * mx * my + C1) * (2.0 * cov + C2)) / ((mx * mx + my * my + C1) * (vx + vy + C2));
            windows += 1.0;
        }
    }
    sum / windows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(value: impl Fn(u32, u32) -> u8) -> Picture {
        let (width, height) = (20, 12);
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).flat_map(|(x, y)| {
            let value = value(x, y);
            [value, value, value, 255]
        });
        Picture { width, height, pixels: pixels.collect() }
    }

    #[test]
    fn differences_are_found_and_weighed() {
        let base = picture(|x, y| (x * 10 + y) as u8);
        assert_eq!(compare(&base, &base), Verdict::Equal);
        let mut one = base.clone();
        one.pixels[4 * 25] ^= 1;
        let Verdict::Pixels { pixels: 1, most: 1, ssim } = compare(&base, &one) else { panic!() };
        assert!(ssim > 0.999 && ssim < 1.0, "{ssim}");
        let inverse = picture(|x, y| 255 - (x * 10 + y) as u8);
        let Verdict::Pixels { pixels, ssim: worse, .. } = compare(&base, &inverse) else { panic!() };
        assert!(pixels > 200 && worse < 0.5, "{pixels} {worse}");
        let small = Picture { width: 10, height: 24, ..base.clone() };
        assert!(matches!(compare(&base, &small), Verdict::Size(_)));
    }
}
