//! Breaks no rule: the other programs fail for the reason that they are named for.

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
    1 First = first(Plain) Query Reply [REPLY] -> Plain;
    /// A row.
    2 Second = second(Plain) Verb None [VAR_TAIL] tails { items: u32 = count <= 4 };
    /// A row.
    3 Third = third(Carrier) Verb None [BLOB] blobs { bytes: BlobRef };
}

fn main() {}
