//! A payload that grew without its stated size.

runahead_wire::payload! {
    /// A payload.
    pub struct Grown: 8 {
        /// A number.
        first: u32,
        /// A number.
        second: u32,
        /// The new one.
        third: u32,
    }
}

fn main() {}
