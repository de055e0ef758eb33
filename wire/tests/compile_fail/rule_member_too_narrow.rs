//! A member that cannot hold every number of its value type.

runahead_wire::values! {
    /// A value type.
    pub enum Wide {
        /// The only one.
        Only = 256,
    }
}

runahead_wire::payload! {
    /// A payload.
    pub struct Narrow: 4 {
        /// The value.
        value: u8 as Wide,
        #[doc(hidden)]
        _pad: [u8; 3],
    }
}

fn main() {}
