//! Payloads: the fixed-layout structs of records, tails, answers and blobs.
//!
//! [`payload!`](crate::payload!) defines one: `#[repr(C)]`, explicit padding, a size that is asserted at
//! compile time, no pointer, members that are raw integers with checked readings. Padding is written as zero
//! and never looked at. Two payloads are equal when their bytes are, so a NaN equals itself and padding
//! counts.

#![allow(
    missing_debug_implementations,
    reason = "the derives of zerocopy add helper types without it; every payload derives it"
)]

use crate::values::{Checked, ValueInfo};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

mod answer;
mod archive;
mod caps;
mod context;
mod draw;
mod event;
mod framebuffer;
mod image;
mod program;
mod query;
mod reply;
mod resource;
mod state;
mod stream_output;
mod sync;
mod texture;
mod transfer;
mod vertex;

pub use answer::*;
pub use archive::*;
pub use caps::*;
pub use context::*;
pub use draw::*;
pub use event::*;
pub use framebuffer::*;
pub use image::*;
pub use program::*;
pub use query::*;
pub use reply::*;
pub use resource::*;
pub use state::*;
pub use stream_output::*;
pub use sync::*;
pub use texture::*;
pub use transfer::*;
pub use vertex::*;

/// Layouts that travel inside blobs, where no row's columns mention them. The session's fingerprint covers
/// them.
pub(crate) const BLOB_LAYOUTS: &[&StructInfo] = &[
    VertexAttrib::INFO,
    VertexBindingPoint::INFO,
    SamplerParameters::INFO,
    RenderState::INFO,
    CapsHead::INFO,
    CapsLimits::INFO,
    FormatCaps::INFO,
    ArchiveHead::INFO,
    ArchiveUniform::INFO,
    ArchiveInterface::INFO,
    ArchiveBlock::INFO,
];

/// What a member is made of.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A number of which every bit pattern is valid.
    Plain {
        /// Name of the primitive type.
        name: &'static str,
    },
    /// A [`Handle`](crate::Handle).
    Handle,
    /// A [`BlobRef`](crate::BlobRef).
    Blob,
    /// A raw integer with a value type.
    Value {
        /// Bytes of the raw integer.
        size: usize,
        /// The value type.
        info: &'static ValueInfo,
    },
    /// Equal items without gaps.
    Array {
        /// Number of items.
        count: usize,
        /// Bytes of one item.
        size: usize,
        /// One item.
        item: &'static Shape,
    },
    /// Another payload struct.
    Struct(&'static StructInfo),
}

impl Shape {
    /// Bytes of it.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Self::Plain { name } => match *name {
                "u8" | "i8" => 1,
                "u16" | "i16" => 2,
                "u64" | "i64" => 8,
                _ => 4,
            },
            Self::Handle => size_of::<crate::Handle>(),
            Self::Blob => size_of::<crate::BlobRef>(),
            Self::Value { size, .. } => *size,
            Self::Array { count, size, .. } => count * size,
            Self::Struct(info) => info.size,
        }
    }
}

/// One member of a payload struct.
#[derive(Clone, Copy, Debug)]
pub struct MemberInfo {
    /// Name as in the source.
    pub name: &'static str,
    /// Bytes from the start of the struct.
    pub offset: usize,
    /// Bytes of the member.
    pub size: usize,
    /// What it is made of.
    pub shape: Shape,
}

/// Layout of a payload struct, for the fingerprint, dumps and generators of test input.
#[derive(Clone, Copy, Debug)]
pub struct StructInfo {
    /// Name of the type.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Alignment in bytes, at most 8.
    pub align: usize,
    /// Members in order, padding included.
    pub members: &'static [MemberInfo],
    /// The checks of [`Member::check`] over a byte image of any alignment; names the bad member, or `size`.
    pub check: fn(&[u8]) -> Result<(), &'static str>,
}

/// Anything that may be a member of a payload or an element of a tail.
pub trait Member: FromBytes + IntoBytes + Immutable + KnownLayout + Copy + 'static {
    /// Name of the type.
    const NAME: &'static str;
    /// What it is made of.
    const SHAPE: Shape;
    /// Number of [`BlobRef`](crate::BlobRef)s it holds.
    const BLOBS: usize = 0;
    /// Whether [`Member::check`] can fail, so that a tail of plain numbers is not walked.
    const CHECKED: bool = false;

    /// Checks the numbers that have a value type and the rules between members.
    ///
    /// # Errors
    /// The name of the first bad member.
    #[inline]
    fn check(&self) -> Result<(), &'static str> {
        Ok(())
    }
}

macro_rules! plain_members {
    ($($number:ident)+) => { $(
        impl Member for $number {
            const NAME: &'static str = stringify!($number);
            const SHAPE: Shape = Shape::Plain { name: stringify!($number) };
        }
    )+ };
}
plain_members!(u8 i8 u16 i16 u32 i32 u64 i64 f32);

impl<T: Member, const N: usize> Member for [T; N] {
    const NAME: &'static str = T::NAME;
    const SHAPE: Shape = Shape::Array { count: N, size: size_of::<T>(), item: &T::SHAPE };
    const BLOBS: usize = T::BLOBS * N;
    const CHECKED: bool = T::CHECKED;

    #[inline]
    fn check(&self) -> Result<(), &'static str> {
        self.iter().try_for_each(T::check)
    }
}

/// A struct that [`payload!`](crate::payload!) defined.
pub trait Payload: Member + Default {
    /// Its layout.
    const INFO: &'static StructInfo;
}

/// Description of a member that has a value type; for [`payload!`](crate::payload!).
#[doc(hidden)]
#[must_use]
pub const fn checked_shape<R, K: Checked<R>>() -> Shape {
    K::SHAPE
}

/// Defines payload structs.
///
/// The number after the name is the size in bytes; another size does not compile. `raw as Value` gives the
/// member a value type: a method of the member's name returns the checked value, and `check` refuses an
/// invalid number. The optional `check` block holds the rules between members and returns the name of the
/// offending one.
///
/// The derives of the generated code name this crate `runahead_wire`; a dependent must not rename it.
///
/// ```
/// runahead_wire::payload! {
///     /// A filled span of a buffer.
///     pub struct Fill: 16 {
///         /// First byte.
///         start: u64,
///         /// Bytes, not 0.
///         length: u32,
///         /// Whether the fill wraps around.
///         wrap: u8 as bool,
///         #[doc(hidden)]
///         _pad: [u8; 3],
///     }
///     check |fill| { (fill.length == 0).then_some("length") }
/// }
/// use runahead_wire::Member;
/// let fill = Fill { length: 4, wrap: 1, ..Default::default() };
/// assert_eq!(fill.wrap(), Some(true));
/// assert_eq!(fill.check(), Ok(()));
/// assert_eq!(Fill::default().check(), Err("length"));
/// ```
#[macro_export]
macro_rules! payload {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident : $size:literal {
            $( $(#[$member_meta:meta])* $member:ident : $ty:ty $(as $value:ty)? ),+ $(,)?
        }
        $(check |$this:ident| $rules:block)?
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        #[derive(
            $crate::zerocopy::FromBytes,
            $crate::zerocopy::IntoBytes,
            $crate::zerocopy::Immutable,
            $crate::zerocopy::KnownLayout,
        )]
        #[zerocopy(crate = "::runahead_wire::zerocopy")]
        #[repr(C)]
        pub struct $name {
            $( $(#[$member_meta])* pub $member: $ty, )+
        }

        const _: () = assert!(
            ::core::mem::size_of::<$name>() == $size,
            concat!("the size of payload ", stringify!($name), " is not the stated ", stringify!($size)),
        );
        const _: () = assert!(
            ::core::mem::align_of::<$name>() <= 8 && $size % 4 == 0,
            concat!("payload ", stringify!($name), " needs an alignment of at most 8 and a multiple of 4 bytes"),
        );

        impl $name {
            $( $(
                #[doc = concat!("Checked reading of `", stringify!($member), "`; `None` for an invalid number.")]
                #[inline]
                #[must_use]
                pub fn $member(&self) -> Option<$value> {
                    <$value as $crate::values::Checked<$ty>>::from_wire(self.$member)
                }
            )? )+
        }

        impl Default for $name {
            /// Every byte zero.
            #[inline]
            fn default() -> Self {
                $crate::zerocopy::FromZeros::new_zeroed()
            }
        }

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                $crate::zerocopy::IntoBytes::as_bytes(self) == $crate::zerocopy::IntoBytes::as_bytes(other)
            }
        }

        impl Eq for $name {}

        impl $crate::payload::Member for $name {
            const NAME: &'static str = stringify!($name);
            const SHAPE: $crate::payload::Shape =
                $crate::payload::Shape::Struct(<Self as $crate::payload::Payload>::INFO);
            const BLOBS: usize = 0 $( + <$ty as $crate::payload::Member>::BLOBS )+;
            const CHECKED: bool = false
                $( || <$ty as $crate::payload::Member>::CHECKED $( || $crate::__is_given!($value) )? )+
                $( || $crate::__is_given!($rules) )?;

            // Inlined, so that a caller that wants no name carries none.
            #[inline(always)]
            fn check(&self) -> Result<(), &'static str> {
                $(
                    if $crate::payload::Member::check(&self.$member).is_err() {
                        return Err(stringify!($member));
                    }
                    $(
                        if !<$value as $crate::values::Checked<$ty>>::is_valid(&self.$member) {
                            return Err(stringify!($member));
                        }
                    )?
                )+
                $(
                    let $this = self;
                    let fault: Option<&'static str> = $rules;
                    if let Some(member) = fault {
                        return Err(member);
                    }
                )?
                Ok(())
            }
        }

        impl $crate::payload::Payload for $name {
            const INFO: &'static $crate::payload::StructInfo = &$crate::payload::StructInfo {
                name: stringify!($name),
                size: $size,
                align: ::core::mem::align_of::<Self>(),
                members: &[ $(
                    $crate::payload::MemberInfo {
                        name: stringify!($member),
                        offset: ::core::mem::offset_of!(Self, $member),
                        size: ::core::mem::size_of::<$ty>(),
                        shape: $crate::__member_shape!($ty $(as $value)?),
                    },
                )+ ],
                check: |bytes| match <Self as $crate::zerocopy::FromBytes>::read_from_bytes(bytes) {
                    Ok(payload) => $crate::payload::Member::check(&payload),
                    Err(_) => Err("size"),
                },
            };
        }
    )+ };
}
pub(crate) use payload;

/// `true`; turns the presence of an optional macro argument into a constant.
#[doc(hidden)]
#[macro_export]
macro_rules! __is_given {
    ($($argument:tt)*) => {
        true
    };
}

/// Shape of a member, by its value type if it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! __member_shape {
    ($ty:ty) => {
        <$ty as $crate::payload::Member>::SHAPE
    };
    ($ty:ty as $value:ty) => {
        $crate::payload::checked_shape::<$ty, $value>()
    };
}
