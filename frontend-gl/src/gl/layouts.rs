//! Vertex layouts by their content: a program that goes from one to another and back, as one does that enables arrays for a
//! draw and disables them behind it, has both on the server.

use runahead_wire::{
    payload::{VertexAttrib, VertexBindingPoint},
    zerocopy::IntoBytes,
};
use twox_hash::XxHash3_128;

use super::context::{Dead, lifetime};

/// Layouts that are kept.
const KEPT: usize = 32;

#[derive(Clone, Copy, Debug)]
struct Layout {
    digest: u128,
    /// What the tracker knows it by.
    id: u64,
    /// When it was used last.
    used: u64,
}

/// The layouts of a context.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    kept: Vec<Layout>,
    uses: u64,
}

impl Layouts {
    /// What the tracker knows a layout by. One that is kept no longer goes to `dead`.
    pub(crate) fn find(
        &mut self,
        attributes: &[VertexAttrib],
        points: &[VertexBindingPoint],
        dead: &mut Vec<Dead>,
    ) -> u64 {
        let mut hasher = XxHash3_128::new();
        hasher.write(attributes.as_bytes());
        hasher.write(points.as_bytes());
        let digest = hasher.finish_128();
        self.uses += 1;
        if let Some(layout) = self.kept.iter_mut().find(|layout| layout.digest == digest) {
            layout.used = self.uses;
            return layout.id;
        }
        let layout = Layout { digest, id: lifetime(), used: self.uses };
        if self.kept.len() < KEPT {
            self.kept.push(layout);
        } else if let Some(oldest) = self.kept.iter_mut().min_by_key(|layout| layout.used) {
            dead.push(Dead::Layout(oldest.id));
            *oldest = layout;
        }
        layout.id
    }

    /// Whether one is still kept; it is used then.
    pub(crate) fn uses(&mut self, id: u64) -> bool {
        self.uses += 1;
        let kept = self.kept.iter_mut().find(|layout| layout.id == id);
        kept.map(|layout| layout.used = self.uses).is_some()
    }

    /// Every one ends.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Dead> {
        self.kept.drain(..).map(|layout| Dead::Layout(layout.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_one_identity_as_long_as_it_is_kept() {
        let (mut layouts, mut dead) = (Layouts::default(), Vec::new());
        let mut find = |stride: i32, dead: &mut Vec<Dead>| {
            let attributes = [VertexAttrib { stride, ..VertexAttrib::default() }; 2];
            layouts.find(&attributes, &[VertexBindingPoint::default()], dead)
        };
        let ids: Vec<u64> = (0..KEPT as i32).map(|stride| find(stride, &mut dead)).collect();
        assert!((0..KEPT as i32).zip(&ids).all(|(stride, id)| find(stride, &mut dead) == *id));
        assert!(dead.is_empty(), "all are kept");
        // The first one was used again, and so the second goes.
        assert_eq!(find(0, &mut dead), ids[0]);
        let other = find(1000, &mut dead);
        assert!(matches!(dead[..], [Dead::Layout(id)] if id == ids[1]), "{:?}", dead.len());
        assert!(!ids.contains(&other));
        assert_ne!(find(1, &mut dead), ids[1], "what has gone is another one when it comes back");
        assert!(!layouts.uses(ids[1]) && layouts.uses(ids[0]) && layouts.uses(other));
        assert_eq!(layouts.drain().count(), KEPT);
    }
}
