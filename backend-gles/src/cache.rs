//! Translated programs on disk, by content.
//!
//! An entry holds everything that its translation was made from, and is taken only when all of it is the same: a name
//! that two contents share, another version of the translation, another driver and a damaged file are all a miss. What
//! cannot be written is not kept. Whoever makes a [`Cache`] says where it lies; without one nothing is read or written.
//!
//! Compiled programs are the driver's to keep, by the same text.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use crate::{
    bringup::Report,
    essl::{Run, Runs, Slots},
    module::Capture,
    programs::Translated,
};

/// First bytes of an entry, with the version of the layout and of the translation: moved with either.
const MAGIC: &[u8; 12] = b"runahead\x01\0\0\0";
/// How files of the cache end; no others are touched.
const SUFFIX: &str = "essl";
/// Bytes of the largest entry.
const ENTRY: u64 = 8 << 20;
/// Bytes of all entries together; beyond, the oldest go.
const TOTAL: u64 = 64 << 20;

/// A folder of translated programs.
#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The driver that the entries are for.
    driver: String,
    total: u64,
    /// Bytes that were kept since the folder was looked through.
    kept: AtomicU64,
}

/// Numbers of files on their way, so that two sessions of a process have two.
static FILES: AtomicU64 = AtomicU64::new(0);

impl Cache {
    /// The cache in a folder, which is there, for a driver.
    pub(crate) fn new(folder: PathBuf, driver: &Report) -> Self {
        let driver = format!("{}\n{}\n{}", driver.vendor, driver.renderer, driver.version);
        Self { folder, driver, total: TOTAL, kept: AtomicU64::new(TOTAL) }
    }

    /// What was kept of the translation of these modules.
    pub(crate) fn find(&self, stages: &[Vec<u32>; 6], version: u32) -> Option<Translated> {
        let key = self.key(stages, version);
        let mut entry = Vec::new();
        let file = File::open(self.path(&key)).ok()?;
        file.take(ENTRY + 1).read_to_end(&mut entry).ok()?;
        opened(&entry, &key)
    }

    /// Keeps a translation.
    pub(crate) fn keep(&self, stages: &[Vec<u32>; 6], version: u32, translated: &Translated) {
        let key = self.key(stages, version);
        let entry = sealed(&key, translated);
        let size = entry.len() as u64;
        if size > ENTRY || self.write(&self.path(&key), &entry).is_err() {
            return;
        }
        // Looking through the folder takes longer than keeping an entry: at the first one of a session, and then where
        // there may be much more than before.
        let kept = self.kept.fetch_add(size, Ordering::Relaxed) + size;
        if kept >= self.total / 16 {
            self.kept.store(0, Ordering::Relaxed);
            self.shrink();
        }
    }

    /// Everything that a translation is made from.
    fn key(&self, stages: &[Vec<u32>; 6], version: u32) -> Vec<u8> {
        let mut key = Out(MAGIC.to_vec());
        key.bytes(env!("CARGO_PKG_VERSION").as_bytes());
        key.bytes(self.driver.as_bytes());
        key.word(version);
        for stage in stages {
            key.word(stage.len() as u32);
            stage.iter().for_each(|word| key.word(*word));
        }
        key.0
    }

    fn path(&self, key: &[u8]) -> PathBuf {
        self.folder.join(format!("{:016x}{:016x}.{SUFFIX}", hash(key, 0), hash(key, 1)))
    }

    /// Writes a file whole or not at all.
    fn write(&self, path: &Path, entry: &[u8]) -> io::Result<()> {
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let unfinished = self.folder.join(format!("{}-{number}.{SUFFIX}.new", std::process::id()));
        let mut file = File::options().write(true).create_new(true).open(&unfinished)?;
        let written = file.write_all(entry).and_then(|()| fs::rename(&unfinished, path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Removes the oldest entries where all together are too many bytes, until half of that is left.
    fn shrink(&self) {
        let Ok(folder) = fs::read_dir(&self.folder) else { return };
        let mut entries: Vec<(SystemTime, u64, PathBuf)> = folder
            .filter_map(Result::ok)
            .filter(|entry| entry.path().extension().is_some_and(|suffix| suffix == SUFFIX))
            .filter_map(|entry| {
                let about = entry.metadata().ok()?;
                Some((about.modified().ok()?, about.len(), entry.path()))
            })
            .collect();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        if total <= self.total {
            return;
        }
        entries.sort();
        for (_, size, path) in entries {
            if total <= self.total / 2 {
                break;
            }
            // Another session may have removed it.
            let _ = fs::remove_file(path);
            total -= size;
        }
    }
}

/// FNV-1a: names of files and what finds out damage, and no proof against anybody.
fn hash(bytes: &[u8], seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// An entry being written.
struct Out(Vec<u8>);

impl Out {
    fn word(&mut self, word: u32) {
        self.0.extend(word.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u32);
        self.0.extend(bytes);
    }

    fn runs(&mut self, runs: &Runs) {
        self.word(runs.0.len() as u32);
        for Run { first, count, point, array, unit } in &runs.0 {
            for word in [*first, *count, *point, u32::from(*array), *unit] {
                self.word(word);
            }
        }
    }
}

/// An entry being read.
struct In<'a>(&'a [u8]);

impl<'a> In<'a> {
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.word()? as usize;
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// So many things; a number that lies ends where the bytes do.
    fn many<T>(&mut self, one: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.word()?;
        (0..count).map(|_| one(self)).collect()
    }

    fn runs(&mut self) -> Option<Runs> {
        let run = |from: &mut Self| {
            Some(Run {
                first: from.word()?,
                count: from.word()?,
                point: from.word()?,
                array: from.word()? != 0,
                unit: from.word()?,
            })
        };
        self.many(run).map(Runs)
    }
}

/// The bytes of an entry: what it was made from, what was made, and a hash of both.
fn sealed(key: &[u8], translated: &Translated) -> Vec<u8> {
    let mut out = Out(Vec::new());
    out.bytes(key);
    let Translated { sources, slots, capture } = translated;
    sources.iter().for_each(|source| out.bytes(source.as_bytes()));
    out.runs(&slots.uniform_blocks);
    out.runs(&slots.storage_blocks);
    out.runs(&slots.images);
    out.word(slots.samplers.len() as u32);
    for (location, unit) in &slots.samplers {
        out.word(*location);
        out.word(*unit);
    }
    out.word(capture.names.len() as u32);
    capture.names.iter().for_each(|name| out.bytes(name.as_bytes()));
    out.word(capture.buffers as u32);
    out.word(u32::from(capture.separate));
    let seal = hash(&out.0, 2);
    out.0.extend(seal.to_le_bytes());
    out.0
}

/// What an entry holds, if it is whole and of that key.
fn opened(entry: &[u8], key: &[u8]) -> Option<Translated> {
    let (bytes, seal) = entry.split_last_chunk::<8>()?;
    if hash(bytes, 2) != u64::from_le_bytes(*seal) {
        return None;
    }
    let mut from = In(bytes);
    if from.bytes()? != key {
        return None;
    }
    let mut sources = <[String; 6]>::default();
    for source in &mut sources {
        *source = from.text()?;
    }
    let slots = Slots {
        uniform_blocks: from.runs()?,
        storage_blocks: from.runs()?,
        images: from.runs()?,
        samplers: from.many(|from| Some((from.word()?, from.word()?)))?,
    };
    let capture =
        Capture { names: from.many(In::text)?, buffers: from.word()? as usize, separate: from.word()? != 0 };
    from.0.is_empty().then_some(Translated { sources, slots, capture })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, which goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("runahead-cache-{}-{name}", std::process::id()));
            fs::create_dir_all(&folder).expect("a folder");
            Self(folder)
        }

        fn cache(&self, renderer: &str) -> Cache {
            Cache::new(self.0.clone(), &Report { renderer: renderer.to_owned(), ..Report::default() })
        }

        fn files(&self) -> Vec<PathBuf> {
            let folder = fs::read_dir(&self.0).expect("the folder");
            folder.map(|entry| entry.expect("an entry").path()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn stages(word: u32) -> [Vec<u32>; 6] {
        [vec![word, 2, 3], vec![], vec![], vec![], vec![4], vec![]]
    }

    fn translated(text: &str) -> Translated {
        let run = Run { first: 7, count: 2, point: 1, array: true, unit: 5 };
        Translated {
            sources: [
                text.to_owned(),
                String::new(),
                String::new(),
                String::new(),
                "f".into(),
                String::new(),
            ],
            slots: Slots {
                uniform_blocks: Runs(vec![run]),
                storage_blocks: Runs(vec![run, run]),
                images: Runs::default(),
                samplers: vec![(3, 4)],
            },
            capture: Capture { names: vec!["v0".into(), "gl_Position".into()], buffers: 2, separate: true },
        }
    }

    #[test]
    fn what_was_kept_is_found_by_all_that_it_was_made_from() {
        let folder = Folder::new("found");
        let cache = folder.cache("one");
        assert_eq!(cache.find(&stages(1), 32), None);
        cache.keep(&stages(1), 32, &translated("one"));
        cache.keep(&stages(9), 32, &translated("nine"));
        assert_eq!(cache.find(&stages(1), 32), Some(translated("one")));
        assert_eq!(folder.cache("one").find(&stages(9), 32), Some(translated("nine")), "another session");
        assert_eq!(cache.find(&stages(2), 32), None, "another module");
        assert_eq!(cache.find(&stages(1), 31), None, "another version");
        assert_eq!(folder.cache("two").find(&stages(1), 32), None, "another driver");
        assert!(folder.files().iter().all(|file| file.extension().is_some_and(|suffix| suffix == SUFFIX)));
    }

    #[test]
    fn a_damaged_entry_is_a_miss_whatever_the_damage() {
        let folder = Folder::new("damaged");
        let cache = folder.cache("one");
        cache.keep(&stages(1), 32, &translated("one"));
        let path = folder.files().pop().expect("an entry");
        let whole = fs::read(&path).expect("its bytes");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            fs::write(&path, &bytes).expect("written");
            assert_eq!(cache.find(&stages(1), 32), None, "byte {at}");
            fs::write(&path, &whole[..at]).expect("written");
            assert_eq!(cache.find(&stages(1), 32), None, "cut at {at}");
        }
        // Sound by its hash, and lying about its counts: every word is tried as a number that reaches beyond.
        for at in (0..whole.len() - 12).step_by(4) {
            let mut bytes = whole[..whole.len() - 8].to_vec();
            bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
            let seal = hash(&bytes, 2);
            bytes.extend(seal.to_le_bytes());
            let _ = opened(&bytes, &cache.key(&stages(1), 32));
        }
        // Another content under the same name.
        let key = cache.key(&stages(1), 32);
        fs::write(&path, sealed(&cache.key(&stages(2), 32), &translated("two"))).expect("written");
        assert_eq!(cache.find(&stages(1), 32), None, "a shared name");
        // It is written again, and found again.
        cache.keep(&stages(1), 32, &translated("one"));
        assert_eq!(cache.find(&stages(1), 32), Some(translated("one")));
        assert_eq!(fs::read(&path).expect("its bytes"), sealed(&key, &translated("one")));
    }

    #[test]
    fn the_oldest_entries_go() {
        let folder = Folder::new("full");
        let mut cache = folder.cache("one");
        cache.total = 16 << 10;
        let text = "x".repeat(1 << 10);
        fs::write(folder.0.join("README"), "not an entry").expect("written");
        for word in 0..64 {
            cache.keep(&stages(word), 32, &translated(&text));
            let bytes: u64 = folder.files().iter().map(|file| fs::metadata(file).expect("it").len()).sum();
            assert!(bytes <= cache.total + 64, "{bytes} bytes");
        }
        assert!(folder.0.join("README").exists(), "only entries go");
        assert_eq!(cache.find(&stages(63), 32), Some(translated(&text)), "the newest is there");
        assert_eq!(cache.find(&stages(0), 32), None);
    }

    #[test]
    fn a_folder_that_is_not_there_is_no_cache() {
        let cache = Cache::new(PathBuf::from("/nonexistent/runahead"), &Report::default());
        cache.keep(&stages(1), 32, &translated("one"));
        assert_eq!(cache.find(&stages(1), 32), None);
    }
}
