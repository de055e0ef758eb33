//! The macro that turns a table into a catalogue, and the small ones that it leans on.
//!
//! `macro_rules` has no conditions, so optional columns work by repetition: `$( ... )?` around an optional
//! column stands where the column is given. Where something else has to stand otherwise, `__first!` takes the
//! first of the alternatives that are there, and `__then!` makes a fragment depend on a column whose content
//! it does not use.

#[cfg(doc)]
use crate::Bulk;

/// Defines a catalogue in the module of the invocation; one module a catalogue.
///
/// A line of the table reads
///
/// ```text
/// /// Meaning; what a declined answer means.
/// number Name = method(Payload) Class Wait [FLAGS]
///     -> Answer
///     tails { name: Element = count_member <= limit, other: Element = member via method <= limit }
///     blobs { member: BlobRef, others: [BlobRef; 6] optional }
///     superseded "Name of the row that a client sends instead";
/// ```
///
/// where everything after the flags is optional, in that order. `count_member` is a `u32` member of the
/// payload; `via` names a method of the payload that derives the count where it is no plain member, and the
/// member stays the one that a refusal names. Numbers that no row may use again stand in a block of their
/// own, `retired { number Name Class "reason"; }`, before the first row. Rows may have the names of their
/// payloads, if the table then names such a payload by a path (`payload::Blit`): in the module `rows` a row
/// hides an imported type of its name.
///
/// Generated are `Op`, `ROWS`, `NAME`, `REVISION`, `FINGERPRINT`, the module `rows` with a struct a live row,
/// the enum `Record`, the trait of the given name, `dispatch`, `Encoder`, `Either` and `documentation`. A method takes
/// the payload, a slice for each tail, a [`Bulk`] (or an array of them) for each blob and, on a reply row,
/// the reply space.
///
/// These rules are checked at compile time: a row's number is its position; a reply row has the wait class
/// `Reply` and an answer, and the reverse; the flags `BLOB` and `VAR_TAIL` are set exactly where blobs and
/// tails are declared; the declared blobs are all that the payload owns; elements own none and need an
/// alignment of at most 8; no record of the row can be longer than
/// [`limits::RECORD_BYTES`](crate::limits::RECORD_BYTES).
///
/// ```
/// mod lamp {
///     use runahead_wire::payload::HandleOnly;
///     runahead_wire::catalogue! {
///         /// Lamps, switched from afar.
///         pub trait Lamp, "lamp", revision 1;
///
///         /// Switches a lamp on.
///         1 On = on(HandleOnly) Verb None [];
///         /// Switches a lamp off.
///         2 Off = off(HandleOnly) Verb None [];
///     }
/// }
/// assert_eq!(lamp::Op::from_raw(2), Some(lamp::Op::Off));
/// assert_eq!(lamp::Op::from_raw(3), None);
/// ```
#[macro_export]
macro_rules! catalogue {
    (
        $(#[doc = $title_doc:literal])*
        $vis:vis trait $pipe:ident, $title:literal, revision $revision:literal;
        $(retired { $($retired_op:literal $retired:ident $retired_class:ident $reason:literal;)+ })?
        $(
            $(#[doc = $doc:literal])*
            $op:literal $name:ident = $call:ident($payload:ty) $class:ident $wait:ident [$($flag:ident)*]
            $(-> $answer:ident)?
            $(tails { $($tail:ident : $element:ty = $count:ident $(via $via:ident)? <= $max:expr),+ $(,)? })?
            $(blobs { $($blob:ident : $column:tt $($optional:ident)?),+ $(,)? })?
            $(superseded $by:literal)?
            ;
        )+
    ) => {
        /// Name of the catalogue.
        $vis const NAME: &str = $title;

        /// Revision of the catalogue's meaning; the layout has the fingerprint.
        $vis const REVISION: u32 = $revision;

        /// The table, in order of the numbers; row `n` is at `n - 1`.
        $vis const ROWS: &[$crate::catalogue::RowInfo] = {
            const LIVE: &[$crate::catalogue::RowInfo] = &[ $(
                $crate::catalogue::RowInfo {
                    op: $op,
                    name: stringify!($name),
                    payload: Some(<$payload as $crate::payload::Payload>::INFO),
                    class: $crate::catalogue::Class::$class,
                    wait: $crate::catalogue::Wait::$wait,
                    flags: $crate::catalogue::RowFlags::EMPTY
                        $( .with($crate::catalogue::RowFlags::$flag) )*,
                    tails: &[ $( $(
                        $crate::catalogue::TailInfo {
                            name: stringify!($tail),
                            element_name: <$element as $crate::payload::Member>::NAME,
                            element: <$element as $crate::payload::Member>::SHAPE,
                            size: ::core::mem::size_of::<$element>(),
                            align: ::core::mem::align_of::<$element>(),
                            count: stringify!($count),
                            max: $max,
                            declared: |image| $crate::catalogue::declared::<$payload>(
                                image,
                                |payload| $crate::__count!(payload, $count $(via $via)?),
                            ),
                        },
                    )+ )? ],
                    blobs: &[ $( $(
                        $crate::catalogue::BlobInfo {
                            name: stringify!($blob),
                            count: <$crate::__column!($column) as $crate::bulk::BlobColumn>::COUNT,
                            optional: $crate::__is_optional!($($optional)?),
                        },
                    )+ )? ],
                    answer: $crate::__first!(
                        $( Some(<$answer as $crate::catalogue::Answer>::ANSWER), )?
                        None
                    ),
                    standing: $crate::__first!(
                        $( $crate::catalogue::Standing::Superseded { by: $by }, )?
                        $crate::catalogue::Standing::Live
                    ),
                    docs: concat!($($doc),*),
                },
            )+ ];
            const RETIRED: &[$crate::catalogue::RowInfo] = &[ $( $(
                $crate::catalogue::RowInfo {
                    op: $retired_op,
                    name: stringify!($retired),
                    payload: None,
                    class: $crate::catalogue::Class::$retired_class,
                    wait: $crate::catalogue::Wait::None,
                    flags: $crate::catalogue::RowFlags::EMPTY,
                    tails: &[],
                    blobs: &[],
                    answer: None,
                    standing: $crate::catalogue::Standing::Retired { reason: $reason },
                    docs: "",
                },
            )+ )? ];
            &$crate::catalogue::table::<{ LIVE.len() + RETIRED.len() }>(LIVE, RETIRED)
        };

        const _: () = assert!(
            $crate::catalogue::numbers_are_positions(ROWS),
            concat!("catalogue ", $title, ": a row's number must be its position: no gap, duplicate or other order"),
        );

        /// Digest of everything on which two peers must agree; see the module `fingerprint` of
        /// `runahead_wire`.
        $vis const FINGERPRINT: u64 = $crate::fingerprint::catalogue(NAME, REVISION, ROWS);

        $(
            const _: () = {
                let flags = $crate::catalogue::RowFlags::EMPTY $( .with($crate::catalogue::RowFlags::$flag) )*;
                let reply = flags.contains($crate::catalogue::RowFlags::REPLY);
                assert!(
                    reply == matches!($crate::catalogue::Wait::$wait, $crate::catalogue::Wait::Reply),
                    concat!("row ", stringify!($name), ": flag REPLY and wait class Reply need each other"),
                );
                assert!(
                    reply == $crate::__first!($( $crate::__then!($answer, true), )? false),
                    concat!("row ", stringify!($name), ": flag REPLY and an answer type need each other"),
                );
                assert!(
                    flags.contains($crate::catalogue::RowFlags::VAR_TAIL)
                        == (0 $( $( + $crate::__then!($tail, 1) )+ )? > 0),
                    concat!("row ", stringify!($name), ": flag VAR_TAIL and declared tails need each other"),
                );
                let declared = 0 $( $( + <$crate::__column!($column) as $crate::bulk::BlobColumn>::COUNT )+ )?;
                assert!(
                    declared == <$payload as $crate::payload::Member>::BLOBS,
                    concat!("row ", stringify!($name), ": the declared blobs are not those that the payload owns"),
                );
                assert!(
                    flags.contains($crate::catalogue::RowFlags::BLOB) == (declared > 0),
                    concat!("row ", stringify!($name), ": flag BLOB and a blob member need each other"),
                );
                let end = $crate::record::head_len(true) + ::core::mem::size_of::<$payload>();
                $( $(
                    let end = $crate::record::part_end::<$element>(end, $max as usize);
                )+ )?
                assert!(
                    end <= $crate::limits::RECORD_BYTES,
                    concat!("row ", stringify!($name), ": the largest record is longer than any record may be"),
                );
                $( $(
                    assert!(
                        <$element as $crate::payload::Member>::BLOBS == 0
                            && ::core::mem::align_of::<$element>() <= $crate::record::RECORD_ALIGN,
                        concat!("row ", stringify!($name), ": a tail element owns a blob or is aligned to more than 8"),
                    );
                )+ )?
            };
        )+

        /// Number of a live row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        $vis enum Op { $( $(#[doc = $doc])* $name = $op, )+ }

        impl Op {
            /// Every live row, in order.
            pub const ALL: &'static [Self] = &[ $( Self::$name, )+ ];

            /// The live row of this number.
            #[must_use]
            pub const fn from_raw(number: u16) -> Option<Self> {
                match number {
                    $( $op => Some(Self::$name), )+
                    _ => None,
                }
            }

            /// The number.
            #[inline]
            #[must_use]
            pub const fn raw(self) -> u16 {
                self as u16
            }

            /// The name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                self.info().name
            }

            /// The row of the table.
            #[must_use]
            pub const fn info(self) -> &'static $crate::catalogue::RowInfo {
                &ROWS[self as usize - 1]
            }
        }

        /// A struct for each live row: payload, tails and reply space, borrowed.
        $vis mod rows {
            #[allow(unused_imports, reason = "a catalogue may name its types by paths")]
            use super::*;

            $(
                $(#[doc = $doc])*
                #[derive(Clone, Copy, Debug, PartialEq)]
                pub struct $name<'a> {
                    /// The payload.
                    pub payload: &'a $payload,
                    $( $(
                        #[doc = concat!("As many elements as `", stringify!($count), "` of the payload declares.")]
                        pub $tail: &'a [$element],
                    )+ )?
                    $(
                        #[doc = concat!("Where the answer goes (`", stringify!($answer), "`), if one is wanted.")]
                        pub reply: $crate::__then!($answer, Option<$crate::ReplySpace>),
                    )?
                }

                impl $name<'_> {
                    /// Whether every blob column is well formed.
                    #[inline(always)]
                    fn check_blobs<F: $crate::record::Fault>(&self) -> Result<(), F> {
                        $( $(
                            if !$crate::bulk::BlobColumn::is_well_formed(
                                &self.payload.$blob,
                                $crate::__is_optional!($($optional)?),
                            ) {
                                return Err(F::not_staged(stringify!($name), stringify!($blob)));
                            }
                        )+ )?
                        Ok(())
                    }

                    /// Writes the parts. With `SHORT` no tail has more than one element.
                    #[inline(always)]
                    fn write<const SHORT: bool>(&self, out: &mut [u8]) -> Option<()> {
                        let _parts =
                            $crate::record::PartsMut::new($op, $crate::Row::reply(self), self.payload, out)?;
                        $(
                            let mut parts = _parts;
                            $( parts.tail::<$element, SHORT>(self.$tail)?; )+
                        )?
                        Some(())
                    }

                    /// Apart from the short form, so that the latter saves no registers for a copy that it
                    /// does not make; and by parts, so that it keeps no row in memory for this call either.
                    #[inline(never)]
                    fn write_long(
                        payload: &$payload,
                        $( $( $tail: &[$element], )+ )?
                        $( space: $crate::__then!($answer, Option<$crate::ReplySpace>), )?
                        out: &mut [u8],
                    ) -> bool {
                        let row = $name {
                            payload,
                            $( $( $tail, )+ )?
                            $( reply: $crate::__then!($answer, space), )?
                        };
                        row.write::<false>(out).is_some()
                    }
                }

                impl<'a> $crate::Row<'a> for $name<'a> {
                    type Payload = $payload;
                    const OP: u16 = $op;
                    const NAME: &'static str = stringify!($name);
                    const CLASS: $crate::catalogue::Class = $crate::catalogue::Class::$class;
                    const WAIT: $crate::catalogue::Wait = $crate::catalogue::Wait::$wait;
                    const INFO: &'static $crate::catalogue::RowInfo = &ROWS[$op - 1];

                    #[inline]
                    fn payload(&self) -> &'a $payload {
                        self.payload
                    }

                    #[inline]
                    fn reply(&self) -> Option<$crate::ReplySpace> {
                        $crate::__first!($( $crate::__then!($answer, self.reply), )? None)
                    }

                    #[inline]
                    fn encoded_len(&self) -> Option<usize> {
                        let end = $crate::record::head_len(self.reply().is_some())
                            + ::core::mem::size_of::<$payload>();
                        $( $(
                            let count: u32 = $crate::__count!(self.payload, $count $(via $via)?);
                            if count > $max || count as usize != self.$tail.len() {
                                return None;
                            }
                            let end = $crate::record::part_end::<$element>(end, self.$tail.len());
                        )+ )?
                        Some($crate::record::align_up(end, $crate::record::RECORD_ALIGN))
                    }

                    #[inline]
                    fn is_short(&self) -> bool {
                        true $( $( && self.$tail.len() <= 1 )+ )?
                    }

                    #[inline]
                    fn encode(&self, out: &mut [u8]) -> bool {
                        if self.encoded_len() != Some(out.len()) {
                            false
                        } else if $crate::Row::is_short(self) {
                            self.write::<true>(out).is_some()
                        } else {
                            Self::write_long(
                                self.payload,
                                $( $( self.$tail, )+ )?
                                $( $crate::__then!($answer, self.reply), )?
                                out,
                            )
                        }
                    }

                    // Each decoder has one caller that matters, the dispatcher; as a call it would hand its
                    // parts over through memory.
                    #[inline(always)]
                    fn decode_as<F: $crate::record::Fault>(frame: $crate::Frame<'a>) -> Result<Self, F> {
                        const MAY_REPLY: bool = $crate::__first!($( $crate::__then!($answer, true), )? false);
                        let mut parts = frame.parts::<F>(stringify!($name), MAY_REPLY)?;
                        let payload: &'a $payload = parts.payload()?;
                        $( $(
                            let count: u32 = $crate::__count!(payload, $count $(via $via)?);
                            let $tail: &'a [$element] = parts.tail(count, $max, stringify!($count))?;
                        )+ )?
                        parts.end()?;
                        let row = Self {
                            payload,
                            $( $( $tail, )+ )?
                            $( reply: $crate::__then!($answer, frame.reply()), )?
                        };
                        row.check_blobs()?;
                        Ok(row)
                    }

                    fn check(&self) -> Result<(), $crate::Refusal> {
                        $crate::record::check_payload::<_, $crate::Refusal>(self.payload, stringify!($name))?;
                        $( $(
                            let count: u32 = $crate::__count!(self.payload, $count $(via $via)?);
                            if count > $max || count as usize != self.$tail.len() {
                                return Err($crate::Refusal::Corrupt {
                                    owner: stringify!($name),
                                    field: stringify!($count),
                                });
                            }
                            $crate::record::check_elements::<_, $crate::Refusal>(self.$tail)?;
                        )+ )?
                        self.check_blobs()
                    }
                }
            )+
        }

        /// Any record of the catalogue, decoded.
        #[derive(Clone, Copy, Debug, PartialEq)]
        $vis enum Record<'a> { $( $(#[doc = $doc])* $name(rows::$name<'a>), )+ }

        impl<'a> Record<'a> {
            /// Decodes a record. `bytes` begins at a multiple of 8, and no peer can write it.
            ///
            /// # Errors
            /// The refusal that names what is wrong.
            pub fn decode(bytes: &'a [u8]) -> Result<Self, $crate::Refusal> {
                let frame = $crate::Frame::parse(bytes)?;
                match frame.op() {
                    $( $op => <rows::$name<'_> as $crate::Row<'_>>::decode(frame).map(Self::$name), )+
                    $( $( $retired_op => Err($crate::Refusal::RetiredOp { row: stringify!($retired) }), )+ )?
                    unknown => Err($crate::Refusal::UnknownOp(unknown)),
                }
            }

            /// Number of the row.
            #[must_use]
            pub const fn op(&self) -> Op {
                match self { $( Self::$name(_) => Op::$name, )+ }
            }

            /// Bytes of the record; see [`Row::encoded_len`]($crate::Row::encoded_len).
            #[must_use]
            pub fn encoded_len(&self) -> Option<usize> {
                match self { $( Self::$name(row) => $crate::Row::encoded_len(row), )+ }
            }

            /// Writes the record; see [`Row::encode`]($crate::Row::encode).
            #[must_use]
            pub fn encode(&self, out: &mut [u8]) -> bool {
                match self { $( Self::$name(row) => $crate::Row::encode(row, out), )+ }
            }

            /// Checks the parts; see [`Row::check`]($crate::Row::check).
            ///
            /// # Errors
            /// The refusal that names what is wrong.
            pub fn check(&self) -> Result<(), $crate::Refusal> {
                match self { $( Self::$name(row) => $crate::Row::check(row), )+ }
            }

            /// The reply space that the record carries.
            #[must_use]
            pub fn reply(&self) -> Option<$crate::ReplySpace> {
                match self { $( Self::$name(row) => $crate::Row::reply(row), )+ }
            }

            /// The payload's bytes.
            #[must_use]
            pub fn payload_bytes(&self) -> &'a [u8] {
                match self {
                    $( Self::$name(row) => $crate::zerocopy::IntoBytes::as_bytes($crate::Row::payload(row)), )+
                }
            }
        }

        $(#[doc = $title_doc])*
        $vis trait $pipe {
            /// Why a call failed.
            type Error;

            $(
                $(#[doc = $doc])*
                ///
                /// # Errors
                /// The implementation's own.
                fn $call(
                    &mut self,
                    payload: &$payload,
                    $( $( $tail: &[$element], )+ )?
                    $( $( $blob: $crate::__bulk!($column), )+ )?
                    $( reply: $crate::__then!($answer, Option<$crate::ReplySpace>), )?
                ) -> Result<(), Self::Error>;
            )+
        }

        /// Decodes a record, resolves its blobs and calls the row's method. The answer names the row that was
        /// called.
        ///
        /// `bytes` begins at a multiple of 8, and no peer can write it.
        ///
        /// # Errors
        /// [`DispatchError::Refused`]($crate::DispatchError::Refused) before any call;
        /// [`DispatchError::Pipe`]($crate::DispatchError::Pipe) with the method's own error.
        #[inline]
        $vis fn dispatch<P: $pipe + ?Sized, S: $crate::Stage + ?Sized>(
            bytes: &[u8],
            stage: &S,
            pipe: &mut P,
        ) -> Result<Op, $crate::DispatchError<P::Error>> {
            let _ = stage;
            let frame = $crate::Frame::parse(bytes)?;
            match frame.op() {
                $(
                    $op => {
                        let Ok(row) = <rows::$name<'_> as $crate::Row<'_>>::decode_as::<()>(frame) else {
                            return Err($crate::record::explain::<rows::$name<'_>>(bytes).into());
                        };
                        pipe.$call(
                            row.payload,
                            $( $( row.$tail, )+ )?
                            $( $(
                                $crate::bulk::BlobColumn::resolve(
                                    &row.payload.$blob,
                                    stage,
                                    stringify!($name),
                                    stringify!($blob),
                                )?,
                            )+ )?
                            $( $crate::__then!($answer, row.reply), )?
                        )
                        .map_err($crate::DispatchError::Pipe)?;
                        Ok(Op::$name)
                    }
                )+
                $( $( $retired_op => Err($crate::Refusal::RetiredOp { row: stringify!($retired) }.into()), )+ )?
                unknown => Err($crate::Refusal::UnknownOp(unknown).into()),
            }
        }

        /// Implements the catalogue's trait by encoding: stages the bulk bytes, writes their places into a
        /// copy of the payload and hands the record to the sink. What the payload's blob members held before
        /// is ignored.
        #[derive(Clone, Copy, Debug, Default)]
        $vis struct Encoder<S>(pub S);

        impl<S: $crate::Sink> $pipe for Encoder<S> {
            type Error = S::Error;

            $(
                #[inline]
                fn $call(
                    &mut self,
                    payload: &$payload,
                    $( $( $tail: &[$element], )+ )?
                    $( $( $blob: $crate::__bulk!($column), )+ )?
                    $( space: $crate::__then!($answer, Option<$crate::ReplySpace>), )?
                ) -> Result<(), Self::Error> {
                    $(
                        let mut filled = *payload;
                        $( filled.$blob = $crate::bulk::BlobColumn::stage($blob, &mut self.0)?; )+
                        let payload = &filled;
                    )?
                    self.0.record(&rows::$name {
                        payload,
                        $( $( $tail, )+ )?
                        $( reply: $crate::__then!($answer, space), )?
                    })
                }
            )+
        }

        /// One of two implementations of the catalogue's trait, chosen once. The errors of the first become
        /// those of the second.
        #[derive(Clone, Copy, Debug)]
        $vis enum Either<A, B> {
            /// The first.
            First(A),
            /// The second.
            Second(B),
        }

        impl<A: $pipe, B: $pipe> $pipe for Either<A, B>
        where
            B::Error: From<A::Error>,
        {
            type Error = B::Error;

            $(
                #[inline]
                fn $call(
                    &mut self,
                    payload: &$payload,
                    $( $( $tail: &[$element], )+ )?
                    $( $( $blob: $crate::__bulk!($column), )+ )?
                    $( space: $crate::__then!($answer, Option<$crate::ReplySpace>), )?
                ) -> Result<(), Self::Error> {
                    match self {
                        Self::First(pipe) => Ok(pipe.$call(
                            payload,
                            $( $( $tail, )+ )?
                            $( $( $blob, )+ )?
                            $( $crate::__then!($answer, space), )?
                        )?),
                        Self::Second(pipe) => pipe.$call(
                            payload,
                            $( $( $tail, )+ )?
                            $( $( $blob, )+ )?
                            $( $crate::__then!($answer, space), )?
                        ),
                    }
                }
            )+
        }

        /// Writes the table as a Markdown page.
        ///
        /// # Errors
        /// The writer's own.
        $vis fn documentation<W: ::core::fmt::Write + ?Sized>(out: &mut W) -> ::core::fmt::Result {
            $crate::catalogue::write_documentation(out, NAME, concat!($($title_doc),*), REVISION, ROWS)
        }
    };
}
pub(crate) use catalogue;

/// The first of several expressions.
#[doc(hidden)]
#[macro_export]
macro_rules! __first {
    ($first:expr $(, $($rest:tt)*)?) => {
        $first
    };
}

/// The second argument; the first one drives a repetition.
#[doc(hidden)]
#[macro_export]
macro_rules! __then {
    ($driver:tt, $($kept:tt)*) => { $($kept)* };
}

/// A declared count: a member of the payload, or what a method of it derives.
#[doc(hidden)]
#[macro_export]
macro_rules! __count {
    ($payload:expr, $count:ident) => {
        $payload.$count
    };
    ($payload:expr, $count:ident via $via:ident) => {
        $payload.$via()
    };
}

/// Whether a blob column is marked as optional.
#[doc(hidden)]
#[macro_export]
macro_rules! __is_optional {
    () => {
        false
    };
    (optional) => {
        true
    };
}

/// Type of a blob column in the payload.
#[doc(hidden)]
#[macro_export]
macro_rules! __column {
    (BlobRef) => {
        $crate::BlobRef
    };
    ([BlobRef; $count:literal]) => {
        [$crate::BlobRef; $count]
    };
}

/// Type of a blob column in the generated trait.
#[doc(hidden)]
#[macro_export]
macro_rules! __bulk {
    (BlobRef) => { $crate::Bulk<'_> };
    ([BlobRef; $count:literal]) => { [$crate::Bulk<'_>; $count] };
}
