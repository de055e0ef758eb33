//! A reply row whose sender would not wait for the reply.

runahead_wire::payload! {
    /// A payload.
    pub struct Plain: 8 {
        /// Elements.
        count: u32,
        /// A number.
        number: u32,
    }

    /// A payload with a blob.
    pub struct Carrier: 24 {
        /// Bytes.
        bytes: runahead_wire::BlobRef,
    }
}

runahead_wire::catalogue! {
    /// A catalogue.
    pub trait Tiny, "tiny", revision 1;

    /// A row.
    1 First = first(Plain) Query None [REPLY] -> Plain;
}

fn main() {}
