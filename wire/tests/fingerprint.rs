//! What the fingerprint sees. Each pair of tiny catalogues differs in one thing.

use runahead_wire::{event, fingerprint, pipe};

/// A payload, an element and a value type that differ in one thing from the first module's.
macro_rules! variant {
    ($module:ident { $($payload:tt)* } { $($rows:tt)* }) => {
        mod $module {
            #![allow(dead_code, reason = "only the fingerprint is looked at")]
            runahead_wire::values! {
                /// A value.
                pub enum Mode {
                    /// One.
                    One = 1,
                    /// Two.
                    Two = 2,
                }
            }
            runahead_wire::values! {
                /// Another value type with other numbers.
                pub enum Other {
                    /// One.
                    One = 1,
                    /// Three.
                    Three = 3,
                }
            }
            runahead_wire::payload! {
                /// A payload.
                pub struct Head: 16 { $($payload)* }
            }
            runahead_wire::catalogue! {
                /// A catalogue.
                pub trait Tiny, "tiny", revision 1;
                $($rows)*
            }
        }
    };
}

variant! { base
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { same
{ /** other words */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** Other words. */ 1 First = other_name(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { swapped
{ /** b */ b: u32, /** a */ a: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { retyped
{ /** a */ a: i32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { narrowed
{ /** a */ a: u32, /** b */ b: u16, /** c */ c: u16, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { other_values
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Other, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { other_limit
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 5 }; } }
variant! { other_count
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = b <= 4 }; } }
variant! { other_element
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: i32 = count <= 4 }; } }
variant! { other_class
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) State None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { other_wait
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb Applied [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { other_flag
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL OPTIONAL] tails { items: u32 = count <= 4 }; } }
variant! { other_name
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 Second = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }
variant! { one_row_more
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 };
  /** Another. */ 2 Second = second(Head) Verb None []; } }
variant! { retired
{ /** a */ a: u32, /** b */ b: u32, /** mode */ mode: u32 as Mode, /** count */ count: u32 }
{ retired { 2 Second Verb "gone"; }
  /** A row. */ 1 First = first(Head) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 }; } }

#[test]
fn one_change_changes_the_fingerprint() {
    let changed = [
        ("two members of one size change places", swapped::FINGERPRINT),
        ("a member has another type of the same size", retyped::FINGERPRINT),
        ("a member is split", narrowed::FINGERPRINT),
        ("a member has another value type", other_values::FINGERPRINT),
        ("a limit", other_limit::FINGERPRINT),
        ("a count member", other_count::FINGERPRINT),
        ("an element type", other_element::FINGERPRINT),
        ("a class", other_class::FINGERPRINT),
        ("a wait class", other_wait::FINGERPRINT),
        ("a flag", other_flag::FINGERPRINT),
        ("a name", other_name::FINGERPRINT),
        ("a row", one_row_more::FINGERPRINT),
        ("a retired row", retired::FINGERPRINT),
    ];
    for (at, (what, fingerprint)) in changed.iter().enumerate() {
        assert_ne!(*fingerprint, base::FINGERPRINT, "{what}");
        for (other, same) in &changed[at + 1..] {
            assert_ne!(fingerprint, same, "{what} and {other}");
        }
    }
}

/// The control: what is no part of the wire changes nothing.
#[test]
fn words_and_method_names_do_not_change_it() {
    assert_eq!(base::FINGERPRINT, same::FINGERPRINT);
}

#[test]
fn the_session_digests_the_control_revision() {
    assert_ne!(fingerprint::session(1), fingerprint::session(2));
}

/// Every peer of another version refuses this one when a number here changes: a change is a break of the
/// wire, to be made on purpose.
#[test]
fn the_wire_is_what_it_was() {
    assert_eq!(
        [pipe::FINGERPRINT, event::FINGERPRINT, fingerprint::session(1)]
            .map(|number| format!("{number:016x}")),
        ["d8a0d3666b503b33", "8973eba738db6479", "e2b179b4a6a4eaee"],
    );
}
