//! Loose uniforms: an image of bytes, of which those that moved are set.

use runahead_core::backend::Outcome;
use runahead_wire::{archive::ArchiveUniform, values::ScalarType};

use crate::gl::{Gl, SetMatrix, SetUniform, UNSUPPORTED};

/// A loose uniform that the driver has.
#[derive(Debug)]
pub(super) struct Value {
    location: i32,
    setter: Setter,
    offset: usize,
    /// Bytes of the image that it takes.
    size: usize,
    count: usize,
    array_stride: usize,
    columns: usize,
    column_stride: usize,
    /// 32-bit words of a column.
    rows: usize,
}

#[derive(Clone, Copy)]
enum Setter {
    Vector(SetUniform),
    Matrix(SetMatrix),
}

impl std::fmt::Debug for Setter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Vector(_) => "Vector",
            Self::Matrix(_) => "Matrix",
        })
    }
}

impl Value {
    /// A value of the archive, which the driver has at `location`.
    pub(super) fn new(gl: &Gl, uniform: &ArchiveUniform, location: i32) -> Outcome<Self> {
        let range = uniform.image().ok_or(UNSUPPORTED)?;
        let (columns, rows) = (usize::from(uniform.columns), usize::from(uniform.rows));
        let scalar = match uniform.scalar().ok_or(UNSUPPORTED)? {
            ScalarType::Float => 0,
            // A truth value is set as the integer that it is.
            ScalarType::Int | ScalarType::Bool => 1,
            ScalarType::UnsignedInt => 2,
            ScalarType::Double => return Err(UNSUPPORTED),
        };
        let setters = &gl.setters;
        let setter = match columns {
            1 => {
                let vector = setters.vectors.get(scalar).and_then(|row| row.get(rows - 1)).copied();
                Setter::Vector(vector.ok_or(UNSUPPORTED)?)
            }
            _ => {
                let row = setters.matrices.get(columns - 2);
                let matrix = row.and_then(|row| row.get(rows.checked_sub(2)?)).copied();
                Setter::Matrix(matrix.filter(|_| scalar == 0).ok_or(UNSUPPORTED)?)
            }
        };
        Ok(Self {
            location,
            setter,
            offset: range.start,
            size: range.len(),
            count: uniform.array_size as usize,
            array_stride: uniform.array_stride as usize,
            columns,
            column_stride: uniform.matrix_stride as usize,
            rows,
        })
    }

    /// Bytes of an image that reaches to its end.
    pub(super) const fn end(&self) -> usize {
        self.offset + self.size
    }
}

/// Sets the uniforms whose bytes moved from `image`, which is what the driver has. Their program is current.
pub(super) fn set(values: &[Value], image: &mut [u8], constants: &[u8], scratch: &mut Vec<u32>) {
    for value in values {
        let range = value.offset..value.end();
        let (Some(new), Some(old)) = (constants.get(range.clone()), image.get_mut(range)) else {
            continue;
        };
        if new == &*old {
            continue;
        }
        old.copy_from_slice(new);
        scratch.clear();
        for element in 0..value.count {
            for column in 0..value.columns {
                let at = element * value.array_stride + column * value.column_stride;
                let words = new.get(at..).unwrap_or_default().as_chunks::<4>().0;
                scratch.extend(words.iter().take(value.rows).map(|word| u32::from_le_bytes(*word)));
            }
        }
        let (count, from) = (value.count as i32, scratch.as_ptr().cast());
        match value.setter {
            // SAFETY: a context of the backend is current with this program; the address names the elements.
            Setter::Vector(set) => unsafe { set(value.location, count, from) },
            // SAFETY: as above.
            Setter::Matrix(set) => unsafe { set(value.location, count, 0, from) },
        }
    }
}
