//! Objects by name, and for as long as anything refers to them.
//!
//! A name is what an application holds; an [`Id`] is what bindings hold. Deleting a name frees it at once, and the
//! object goes on while something is bound to it or attached to something (OpenGL ES 2.0.25 appendix C.3.1).

use std::{collections::HashMap, num::NonZeroU32};

/// An object of a table. Whoever keeps one has [retained](Table::retain) it, so it stays valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Id(NonZeroU32);

/// Names below this are looked up by position.
const DENSE: u32 = 1 << 16;

/// What a name stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Named {
    #[default]
    Free,
    /// Given out, without an object yet.
    Reserved,
    Object(Id),
}

#[derive(Debug)]
struct Entry<T> {
    object: T,
    /// 0 once deleted, and for objects that never had one.
    name: u32,
    references: u32,
}

/// Objects of one name space.
#[derive(Debug)]
pub(crate) struct Table<T> {
    dense: Vec<Named>,
    sparse: HashMap<u32, Named>,
    entries: Vec<Option<Entry<T>>>,
    free: Vec<u32>,
    /// No name below this is free.
    first_free: u32,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            dense: Vec::new(),
            sparse: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            first_free: 1,
        }
    }
}

impl<T> Table<T> {
    #[inline]
    fn named(&self, name: u32) -> Named {
        if name < DENSE {
            self.dense.get(name as usize).copied().unwrap_or_default()
        } else {
            self.sparse.get(&name).copied().unwrap_or_default()
        }
    }

    fn set_named(&mut self, name: u32, named: Named) {
        if name >= DENSE {
            match named {
                Named::Free => self.sparse.remove(&name),
                named => self.sparse.insert(name, named),
            };
            return;
        }
        if self.dense.len() <= name as usize {
            self.dense.resize(name as usize + 1, Named::Free);
        }
        if let Some(place) = self.dense.get_mut(name as usize) {
            *place = named;
        }
        if named == Named::Free {
            self.first_free = self.first_free.min(name);
        }
    }

    /// A name that was free, given out; none when every name is taken.
    pub(crate) fn generate(&mut self) -> Option<u32> {
        let name = (self.first_free.max(1)..=u32::MAX).find(|name| self.named(*name) == Named::Free)?;
        self.set_named(name, Named::Reserved);
        self.first_free = name.saturating_add(1);
        Some(name)
    }

    /// The object of a name.
    #[inline]
    pub(crate) fn find(&self, name: u32) -> Option<Id> {
        match self.named(name) {
            Named::Object(id) => Some(id),
            Named::Free | Named::Reserved => None,
        }
    }

    /// Puts an object under a name; 0 for none. It lives while it has a name or is referred to.
    pub(crate) fn insert(&mut self, name: u32, object: T) -> Option<Id> {
        let entry = Some(Entry { object, name, references: 0 });
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let at = u32::try_from(self.entries.len()).ok()?;
                self.entries.push(None);
                at
            }
        };
        let id = Id(NonZeroU32::new(at.checked_add(1)?)?);
        *self.entries.get_mut(at as usize)? = entry;
        if name != 0 {
            self.set_named(name, Named::Object(id));
        }
        Some(id)
    }

    /// The object of a name, made if there is none.
    pub(crate) fn find_or_insert(&mut self, name: u32, make: impl FnOnce() -> T) -> Option<Id> {
        self.find(name).or_else(|| self.insert(name, make()))
    }

    fn entry(&self, id: Id) -> Option<&Entry<T>> {
        self.entries.get(id.0.get() as usize - 1)?.as_ref()
    }

    fn entry_mut(&mut self, id: Id) -> Option<&mut Entry<T>> {
        self.entries.get_mut(id.0.get() as usize - 1)?.as_mut()
    }

    /// An object.
    #[inline]
    pub(crate) fn get(&self, id: Id) -> Option<&T> {
        self.entry(id).map(|entry| &entry.object)
    }

    /// An object, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id) -> Option<&mut T> {
        self.entry_mut(id).map(|entry| &mut entry.object)
    }

    /// Every object.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten().map(|entry| &entry.object)
    }

    /// The name of an object; 0 when it has none any more.
    pub(crate) fn name(&self, id: Id) -> u32 {
        self.entry(id).map_or(0, |entry| entry.name)
    }

    /// Refers to an object once more.
    pub(crate) fn retain(&mut self, id: Id) {
        if let Some(entry) = self.entry_mut(id) {
            entry.references += 1;
        }
    }

    /// Refers to an object once less. Answers it when nothing is left of it.
    #[must_use = "the server is to be told of the end"]
    pub(crate) fn release(&mut self, id: Id) -> Option<T> {
        let entry = self.entry_mut(id)?;
        entry.references = entry.references.saturating_sub(1);
        self.end(id)
    }

    /// Frees a name. Answers the object when nothing is left of it.
    #[must_use = "the server is to be told of the end"]
    pub(crate) fn delete(&mut self, name: u32) -> Option<T> {
        let named = self.named(name);
        if named == Named::Free || name == 0 {
            return None;
        }
        self.set_named(name, Named::Free);
        let Named::Object(id) = named else { return None };
        self.entry_mut(id)?.name = 0;
        self.end(id)
    }

    fn end(&mut self, id: Id) -> Option<T> {
        if self.entry(id).is_none_or(|entry| entry.name != 0 || entry.references != 0) {
            return None;
        }
        let at = id.0.get() - 1;
        let entry = self.entries.get_mut(at as usize)?.take();
        self.free.push(at);
        entry.map(|entry| entry.object)
    }

    /// Whether a name was given out and is not free yet.
    pub(crate) fn is_given(&self, name: u32) -> bool {
        self.named(name) != Named::Free
    }

    /// How often an object is referred to.
    pub(crate) fn references(&self, id: Id) -> u32 {
        self.entry(id).map_or(0, |entry| entry.references)
    }

    /// Takes every object out; nothing refers to any of them from now on.
    pub(crate) fn drain(&mut self) -> Vec<T> {
        let entries = std::mem::take(self).entries;
        entries.into_iter().flatten().map(|entry| entry.object).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_outlives_its_name_while_it_is_referred_to() {
        let mut table = Table::default();
        let name = table.generate().unwrap();
        assert_eq!((name, table.find(name)), (1, None));
        let id = table.insert(name, 'a').unwrap();
        table.retain(id);
        assert_eq!(table.delete(name), None);
        assert_eq!((table.find(name), table.get(id), table.name(id)), (None, Some(&'a'), 0));
        assert_eq!(table.generate(), Some(1), "the name is free at once");
        assert_eq!(table.release(id), Some('a'));
        assert_eq!(table.get(id), None);
    }

    #[test]
    fn any_name_can_be_used_and_none_is_given_out_twice() {
        let mut table = Table::default();
        for name in [1, 3, DENSE, u32::MAX] {
            assert!(table.insert(name, name).is_some());
        }
        assert_eq!((table.generate(), table.generate()), (Some(2), Some(4)));
        assert_eq!(table.delete(u32::MAX), Some(u32::MAX));
        assert_eq!(table.delete(u32::MAX), None, "a name is freed once");
        assert_eq!(table.delete(0), None);
        assert_eq!(table.find(DENSE).and_then(|id| table.get(id)), Some(&DENSE));
    }
}
