//! Images of eight bits a component, red first, rows from the bottom.

use std::fmt;

/// An image.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    bytes: Vec<u8>,
}

impl Image {
    /// The image of these bytes; nothing when they are not as many as it takes.
    #[must_use]
    pub fn new(width: u32, height: u32, bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() as u64 == u64::from(width) * u64::from(height) * 4).then_some(Self {
            width,
            height,
            bytes,
        })
    }

    /// The image that has such a pixel at each x and y.
    #[must_use]
    pub fn of(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 4]) -> Self {
        let rows = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        Self { width, height, bytes: rows.flat_map(|(x, y)| pixel(x, y)).collect() }
    }

    /// The pixel at a place.
    #[must_use]
    pub fn at(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        let at = (y as usize * self.width as usize + x as usize) * 4;
        self.bytes.get(at..at + 4)?.try_into().ok().filter(|_| x < self.width)
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is wrong with another image, if anything is: how many pixels, and the first of them.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        if (self.width, self.height) != (other.width, other.height) {
            return Some(format!("{other:?} instead of {self:?}"));
        }
        let places = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        let mut wrong = places.filter(|(x, y)| self.at(*x, *y) != other.at(*x, *y));
        let (x, y) = wrong.next()?;
        let count = wrong.count() + 1;
        Some(format!(
            "{count} wrong pixels, the first at ({x}, {y}): {:?} instead of {:?}",
            other.at(x, y).unwrap_or_default(),
            self.at(x, y).unwrap_or_default()
        ))
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an image of {} x {} pixels", self.width, self.height)
    }
}
