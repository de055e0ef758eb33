//! Value types: the checked enums and bit masks that payload members hold as raw integers.
//!
//! A payload keeps the raw number, because any bit pattern may arrive; [`Checked`] turns it into a value or
//! into nothing. Numbers are fixed and ours: no GL token is a value on the wire. A number that lost its
//! meaning is not given to another value.

use crate::payload::{Member, Shape};

mod buffer;
mod context;
mod draw;
mod object;
mod pixel;
mod program;
mod raster;
mod texture;

pub use buffer::*;
pub use context::*;
pub use draw::*;
pub use object::*;
pub use pixel::*;
pub use program::*;
pub use raster::*;
pub use texture::*;

/// How a value type's numbers are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// One of the listed numbers.
    Enum,
    /// Any combination of the listed single-bit numbers.
    Mask,
}

/// Description of a value type, for tables, dumps and generators of test input.
#[derive(Clone, Copy, Debug)]
pub struct ValueInfo {
    /// Name of the type.
    pub name: &'static str,
    /// How `numbers` are to be read.
    pub form: ValueForm,
    /// Name and number of each value.
    pub numbers: &'static [(&'static str, u32)],
}

impl ValueInfo {
    /// The largest raw number that is valid.
    #[must_use]
    pub const fn largest(&self) -> u32 {
        let mut largest = 0;
        let mut at = 0;
        while at < self.numbers.len() {
            let number = self.numbers[at].1;
            match self.form {
                ValueForm::Mask => largest |= number,
                ValueForm::Enum if number > largest => largest = number,
                ValueForm::Enum => {}
            }
            at += 1;
        }
        largest
    }
}

/// A value type of the wire: some `u32` are valid, the others are refused.
pub trait Value: Copy + 'static {
    /// Name, form and numbers of the type.
    const INFO: ValueInfo;
    /// Some valid value.
    const ANY: Self;

    /// The value of a raw number, if it is valid.
    fn from_number(number: u32) -> Option<Self>;
}

/// Unsigned integer that can hold a raw value.
pub trait Raw: Member {
    /// The number, widened.
    fn widen(self) -> u32;
}

impl Raw for u8 {
    #[inline]
    fn widen(self) -> u32 {
        u32::from(self)
    }
}

impl Raw for u16 {
    #[inline]
    fn widen(self) -> u32 {
        u32::from(self)
    }
}

impl Raw for u32 {
    #[inline]
    fn widen(self) -> u32 {
        self
    }
}

/// The checked reading of a raw member `R`: one value, or an array of values.
pub trait Checked<R>: Sized {
    /// Description of the member.
    const SHAPE: Shape;

    /// The value, or nothing when a raw number is invalid.
    fn from_wire(raw: R) -> Option<Self>;

    /// Whether every raw number is valid.
    fn is_valid(raw: &R) -> bool;
}

impl<V: Value, R: Raw> Checked<R> for V {
    const SHAPE: Shape = {
        let limit = match size_of::<R>() {
            1 => 0xFF,
            2 => 0xFFFF,
            _ => u32::MAX,
        };
        assert!(V::INFO.largest() <= limit, "the raw member is too narrow for its value type");
        Shape::Value { size: size_of::<R>(), info: &V::INFO }
    };

    #[inline]
    fn from_wire(raw: R) -> Option<Self> {
        V::from_number(raw.widen())
    }

    #[inline]
    fn is_valid(raw: &R) -> bool {
        V::from_number(raw.widen()).is_some()
    }
}

impl<V: Value, R: Raw, const N: usize> Checked<[R; N]> for [V; N] {
    const SHAPE: Shape = Shape::Array { count: N, size: size_of::<R>(), item: &<V as Checked<R>>::SHAPE };

    #[inline]
    fn from_wire(raw: [R; N]) -> Option<Self> {
        let mut valid = true;
        let values = raw.map(|raw| {
            V::from_number(raw.widen()).unwrap_or_else(|| {
                valid = false;
                V::ANY
            })
        });
        valid.then_some(values)
    }

    #[inline]
    fn is_valid(raw: &[R; N]) -> bool {
        raw.iter().all(<V as Checked<R>>::is_valid)
    }
}

impl Value for bool {
    const INFO: ValueInfo =
        ValueInfo { name: "bool", form: ValueForm::Enum, numbers: &[("False", 0), ("True", 1)] };
    const ANY: Self = false;

    #[inline]
    fn from_number(number: u32) -> Option<Self> {
        match number {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// Defines enums of the wire with fixed numbers.
///
/// ```
/// runahead_wire::values! {
///     /// Which way to turn.
///     pub enum Turn {
///         /// Anticlockwise.
///         Left = 0,
///         /// Clockwise.
///         Right = 1,
///     }
/// }
/// assert_eq!(Turn::from_raw(1), Some(Turn::Right));
/// assert_eq!(Turn::from_raw(2), None);
/// ```
#[macro_export]
macro_rules! values {
    ($(
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident = $number:literal ),+ $(,)? }
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant = $number, )+
        }

        impl $name {
            /// Name of the type.
            pub const NAME: &'static str = stringify!($name);

            /// Every value, in order of definition.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// The value of this number, or nothing when the number is unassigned.
            #[inline]
            #[must_use]
            pub const fn from_raw(number: u32) -> Option<Self> {
                match number {
                    $( $number => Some(Self::$variant), )+
                    _ => None,
                }
            }

            /// The number on the wire.
            #[inline]
            #[must_use]
            pub const fn raw(self) -> u32 {
                self as u32
            }

            /// The number for a 16-bit member. Members that are too narrow for the type do not compile.
            #[inline]
            #[must_use]
            pub const fn raw16(self) -> u16 {
                self as u32 as u16
            }

            /// The number for an 8-bit member. Members that are too narrow for the type do not compile.
            #[inline]
            #[must_use]
            pub const fn raw8(self) -> u8 {
                self as u32 as u8
            }
        }

        impl $crate::values::Value for $name {
            const INFO: $crate::values::ValueInfo = $crate::values::ValueInfo {
                name: stringify!($name),
                form: $crate::values::ValueForm::Enum,
                numbers: &[ $( (stringify!($variant), $number), )+ ],
            };
            const ANY: Self = Self::ALL[0];

            #[inline]
            fn from_number(number: u32) -> Option<Self> {
                Self::from_raw(number)
            }
        }
    )+ };
}
pub(crate) use values;

/// Defines bit masks of the wire; each constant is given by the number of its bit.
///
/// ```
/// runahead_wire::masks! {
///     /// Sides of a square.
///     pub struct Sides {
///         /// The upper one.
///         TOP = 0,
///         /// The lower one.
///         BOTTOM = 1,
///     }
/// }
/// assert_eq!(Sides::from_raw(3), Some(Sides::TOP | Sides::BOTTOM));
/// assert_eq!(Sides::from_raw(4), None);
/// ```
#[macro_export]
macro_rules! masks {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident { $( $(#[$bit_meta:meta])* $bit:ident = $position:literal ),+ $(,)? }
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(u32);

        impl $name {
            $( $(#[$bit_meta])* pub const $bit: Self = Self(1 << $position); )+

            /// Name of the type.
            pub const NAME: &'static str = stringify!($name);

            /// No bit.
            pub const EMPTY: Self = Self(0);

            /// Every assigned bit.
            pub const ALL: Self = Self(0 $( | 1 << $position )+);

            /// The mask of this number, or nothing when an unassigned bit is set.
            #[inline]
            #[must_use]
            pub const fn from_raw(number: u32) -> Option<Self> {
                if number & !Self::ALL.0 == 0 { Some(Self(number)) } else { None }
            }

            /// The number on the wire.
            #[inline]
            #[must_use]
            pub const fn raw(self) -> u32 {
                self.0
            }

            /// The number for a 16-bit member. Members that are too narrow for the type do not compile.
            #[inline]
            #[must_use]
            pub const fn raw16(self) -> u16 {
                self.0 as u16
            }

            /// The number for an 8-bit member. Members that are too narrow for the type do not compile.
            #[inline]
            #[must_use]
            pub const fn raw8(self) -> u8 {
                self.0 as u8
            }

            /// Whether every bit of `other` is set.
            #[inline]
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }

            /// Whether no bit is set.
            #[inline]
            #[must_use]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// The bits of both; usable in constants.
            #[inline]
            #[must_use]
            pub const fn with(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl ::core::ops::BitOr for $name {
            type Output = Self;

            #[inline]
            fn bitor(self, other: Self) -> Self {
                self.with(other)
            }
        }

        impl ::core::ops::BitOrAssign for $name {
            #[inline]
            fn bitor_assign(&mut self, other: Self) {
                *self = self.with(other);
            }
        }

        impl $crate::values::Value for $name {
            const INFO: $crate::values::ValueInfo = $crate::values::ValueInfo {
                name: stringify!($name),
                form: $crate::values::ValueForm::Mask,
                numbers: &[ $( (stringify!($bit), 1 << $position), )+ ],
            };
            const ANY: Self = Self::EMPTY;

            #[inline]
            fn from_number(number: u32) -> Option<Self> {
                Self::from_raw(number)
            }
        }
    )+ };
}
pub(crate) use masks;
