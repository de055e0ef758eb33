//! The seqlock page: a read is one write's words or says that it is torn.

use runahead_rings::{SeqPage, SeqReader, SeqWriter};

use crate::bed::{Bound, model};

fn read_against_write() {
    let page = std::sync::Arc::new(SeqPage::<2>::new());
    let other = page.clone();
    let writing = loom::thread::spawn(move || {
        let mut writer = SeqWriter::new(&other);
        writer.write(&[1, 1]);
        writer.write(&[2, 2]);
    });
    let reader = SeqReader::new(&page);
    let mut words = [7; 2];
    if let Ok(writes) = reader.read(&mut words, 2) {
        assert_eq!(words, [writes; 2], "torn");
    }
    writing.join().unwrap();
    assert_eq!(reader.read(&mut words, 1), Ok(2));
    assert_eq!(words, [2, 2]);
}

model!(
    read_against_write_is_whole,
    Bound::Exhaustive,
    catches [SeqNoOddMark, SeqWriteWithoutFence, SeqEvenRelaxed, SeqReadWithoutFence, SeqNoSecondLook],
    read_against_write
);
