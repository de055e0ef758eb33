//! SPIR-V as words: reading instructions, literals and names, and writing.
//!
//! Source: SPIR-V 1.0 section 2.3 (physical layout). Modules come from the compiler in this process; still, nothing
//! here relies on more than the layout, and a word that is not there reads as 0.

pub(super) use spirv::{Decoration, Op, StorageClass};

/// Words of the header.
pub(super) const HEADER: usize = 5;

/// An instruction: its opcode and operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction<'a> {
    /// First word and operands.
    pub(super) words: &'a [u32],
}

impl<'a> Instruction<'a> {
    /// The opcode; `Op::Nop` for one that SPIR-V does not have.
    pub(super) fn op(self) -> Op {
        Op::from_u32(self.words[0] & 0xffff).unwrap_or(Op::Nop)
    }

    /// Operand word `index`, counted from 1 as the specification does; 0 when it is not there.
    pub(super) fn word(self, index: usize) -> u32 {
        self.words.get(index).copied().unwrap_or(0)
    }

    /// Operands from word `index` on.
    pub(super) fn from(self, index: usize) -> &'a [u32] {
        self.words.get(index..).unwrap_or(&[])
    }

    /// The text that begins at word `index`, and the number of words that it takes.
    pub(super) fn text(self, index: usize) -> (String, usize) {
        let mut bytes = Vec::new();
        for (count, word) in self.from(index).iter().enumerate() {
            for byte in word.to_le_bytes() {
                if byte == 0 {
                    return (String::from_utf8_lossy(&bytes).into_owned(), count + 1);
                }
                bytes.push(byte);
            }
        }
        (String::from_utf8_lossy(&bytes).into_owned(), self.from(index).len())
    }
}

/// The instructions of a module, header excluded. It ends at an instruction that is not whole.
pub(super) fn instructions(words: &[u32]) -> impl Iterator<Item = Instruction<'_>> {
    let mut rest = words.get(HEADER..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let len = (*rest.first()? >> 16) as usize;
        let (words, behind) = (len > 0).then(|| rest.split_at_checked(len)).flatten()?;
        rest = behind;
        Some(Instruction { words })
    })
}

/// Adds an instruction. It has fewer than 65536 words.
pub(super) fn push(out: &mut Vec<u32>, op: Op, operands: &[u32]) {
    debug_assert!(operands.len() < 0xffff, "an instruction's length has 16 bits");
    out.push(((operands.len() as u32 + 1) << 16) | op as u32);
    out.extend_from_slice(operands);
}

/// A text as operands.
pub(super) fn literal(text: &str) -> Vec<u32> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}
