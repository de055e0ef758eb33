//! Images of a screen.

use std::{
    fs::File,
    io::{BufReader, BufWriter},
    path::Path,
};

/// Pixels, row by row from the top, 8 bits of red, green and blue each.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// Pixels along x.
    pub width: usize,
    /// Pixels along y.
    pub height: usize,
    /// The bytes.
    pub rgb: Vec<u8>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({} by {})", self.width, self.height)
    }
}

impl Image {
    /// From an X window dump of version 7 (`XWDFile.h`) with 32 bits a pixel.
    #[must_use]
    pub fn from_xwd(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let word = bytes.get(4 * at..4 * at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_be_bytes(word)).ok()
        };
        let (header, version, width, height) = (word(0)?, word(1)?, word(4)?, word(5)?);
        let (little_endian, bits, stride, colors) = (word(7)? == 0, word(11)?, word(12)?, word(19)?);
        if version != 7 || bits != 32 {
            return None;
        }
        let pixels = bytes.get(header + colors * 12..)?;
        let mut rgb = Vec::with_capacity(width * height * 3);
        for row in pixels.chunks(stride).take(height) {
            for pixel in row.chunks_exact(4).take(width) {
                let [a, b, c, d] = *pixel else { return None };
                rgb.extend(if little_endian { [c, b, a] } else { [b, c, d] });
            }
        }
        (rgb.len() == width * height * 3).then_some(Self { width, height, rgb })
    }

    /// A part, from the top left corner.
    ///
    /// # Panics
    /// It is larger than the whole.
    #[must_use]
    pub fn corner(&self, width: usize, height: usize) -> Self {
        assert!(width <= self.width && height <= self.height, "{width} by {height} of {self:?}");
        let rows = self.rgb.chunks(self.width * 3).take(height);
        Self { width, height, rgb: rows.flat_map(|row| row[..width * 3].iter().copied()).collect() }
    }

    /// How many pixels differ from those of an image of the same size; all of them where the size is another.
    #[must_use]
    pub fn differing(&self, other: &Self) -> usize {
        if (self.width, self.height) != (other.width, other.height) {
            return self.width * self.height;
        }
        self.rgb.chunks(3).zip(other.rgb.chunks(3)).filter(|(one, two)| one != two).count()
    }

    /// The largest difference of one component of one pixel; 255 where the size is another.
    #[must_use]
    pub fn largest_difference(&self, other: &Self) -> u8 {
        if (self.width, self.height) != (other.width, other.height) {
            return u8::MAX;
        }
        self.rgb.iter().zip(&other.rgb).map(|(one, two)| one.abs_diff(*two)).max().unwrap_or(0)
    }

    /// How many colours there are: a picture of something has many.
    #[must_use]
    pub fn colors(&self) -> usize {
        let mut seen: Vec<&[u8]> = self.rgb.chunks(3).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    }

    /// Reads a PNG file of 8 bits a component; what it has of alpha is left out.
    ///
    /// # Errors
    /// The file cannot be read, or is another kind of image.
    pub fn load(file: &Path) -> Result<Self, String> {
        let name = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let from = BufReader::new(File::open(file).map_err(|error| name(&error))?);
        let mut reader = png::Decoder::new(from).read_info().map_err(|error| name(&error))?;
        let size = match reader.output_color_type() {
            (png::ColorType::Rgb, png::BitDepth::Eight) => 3,
            (png::ColorType::Rgba, png::BitDepth::Eight) => 4,
            other => return Err(name(&format_args!("an image of {other:?}"))),
        };
        let mut bytes = vec![0; reader.output_buffer_size().ok_or_else(|| name(&"it is too large"))?];
        let info = reader.next_frame(&mut bytes).map_err(|error| name(&error))?;
        let rgb = bytes.chunks_exact(size).flat_map(|pixel| pixel.iter().copied().take(3)).collect();
        Ok(Self { width: info.width as usize, height: info.height as usize, rgb })
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, file: &Path) -> Result<(), String> {
        let name = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let out = BufWriter::new(File::create(file).map_err(|error| name(&error))?);
        let side = |pixels: usize| u32::try_from(pixels).map_err(|error| name(&error));
        let mut encoder = png::Encoder::new(out, side(self.width)?, side(self.height)?);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(|error| name(&error))?;
        writer.write_image_data(&self.rgb).map_err(|error| name(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A dump of 2 by 1 pixels with one entry in its colour map.
    fn dump() -> Vec<u8> {
        let mut words = vec![0_u32; 25];
        (words[0], words[1], words[4], words[5]) = (100, 7, 2, 1);
        (words[11], words[12], words[19]) = (32, 8, 1);
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        bytes.extend([0; 12]);
        bytes.extend([3, 2, 1, 0, 6, 5, 4, 0]);
        bytes
    }

    #[test]
    fn a_dump_is_read_and_a_broken_one_refused() {
        let image = Image::from_xwd(&dump()).unwrap();
        assert_eq!((image.width, image.height, &image.rgb[..]), (2, 1, &[1, 2, 3, 4, 5, 6][..]));
        for length in 0..dump().len() {
            assert_eq!(Image::from_xwd(&dump()[..length]), None, "{length}");
        }
    }

    #[test]
    fn another_pixel_is_found() {
        let image = Image::from_xwd(&dump()).unwrap();
        let mut other = image.clone();
        assert_eq!((image.differing(&other), image.colors()), (0, 2));
        other.rgb[4] ^= 1;
        assert_eq!((image.differing(&other), image.largest_difference(&other)), (1, 1));
        assert_eq!(image.corner(1, 1).differing(&other.corner(1, 1)), 0);
        assert_eq!(image.differing(&other.corner(1, 1)), 2, "another size");
    }
}
