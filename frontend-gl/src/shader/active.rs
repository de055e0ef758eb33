//! What of a module matters: functions that `main` can reach, and variables whose value can reach an effect.
//!
//! Values are followed from their uses back to their sources, through local variables and without regard to order;
//! control flow and calls always count. So a variable that is read for nothing is not active, and no variable is
//! missed that is.

use std::collections::{HashMap, HashSet};

use super::{
    spirv::{Instruction, Op},
    types::Declarations,
};

/// What of a module matters.
#[derive(Debug, Default)]
pub(super) struct Activity {
    /// Ids of functions that the entry point can reach.
    pub(super) functions: HashSet<u32>,
    /// Global variables that these functions name.
    pub(super) named: HashSet<u32>,
    /// Elements used where that matters, by global variable: one more than the highest constant index, `u32::MAX` for
    /// what is no array or may be used to its end.
    pub(super) used: HashMap<u32, u32>,
}

/// A function's instructions.
struct Function<'a> {
    id: u32,
    body: Vec<Instruction<'a>>,
}

/// Modf, Frexp of GLSL.std.450 write through a pointer.
const WRITING_EXT: [u32; 2] = [35, 51];

/// Finds out. Nobody takes what is written to the variables `dead`.
pub(super) fn find(
    entry: u32,
    instructions: &[Instruction<'_>],
    globals: &HashSet<u32>,
    dead: &HashSet<u32>,
    declarations: &Declarations<'_>,
) -> Activity {
    let functions = split(instructions);
    let by_id: HashMap<u32, usize> = functions.iter().enumerate().map(|(at, one)| (one.id, at)).collect();
    let mut activity = Activity::default();
    let mut pending = vec![entry];
    let mut bodies = Vec::new();
    while let Some(id) = pending.pop() {
        let Some(at) = by_id.get(&id).filter(|_| activity.functions.insert(id)) else { continue };
        for instruction in &functions[*at].body {
            if instruction.op() == Op::FunctionCall {
                pending.push(instruction.word(3));
            }
            bodies.push(*instruction);
        }
    }
    Walk::new(&bodies, globals, dead, declarations).run(&mut activity);
    activity
}

fn split<'a>(instructions: &[Instruction<'a>]) -> Vec<Function<'a>> {
    let mut functions: Vec<Function<'a>> = Vec::new();
    let mut inside = false;
    for instruction in instructions {
        match instruction.op() {
            Op::Function => {
                inside = true;
                functions.push(Function { id: instruction.word(2), body: Vec::new() });
            }
            Op::FunctionEnd => inside = false,
            _ if inside => functions.last_mut().expect("inside of one").body.push(*instruction),
            _ => {}
        }
    }
    functions
}

struct Walk<'a, 'm> {
    bodies: &'a [Instruction<'m>],
    globals: &'a HashSet<u32>,
    dead: &'a HashSet<u32>,
    declarations: &'a Declarations<'m>,
    /// Instruction that makes a value.
    made_by: HashMap<u32, usize>,
    /// Stores into a variable of the module's own, by variable.
    stores: HashMap<u32, Vec<usize>>,
    live: HashSet<u32>,
    pending: Vec<u32>,
}

impl<'a, 'm> Walk<'a, 'm> {
    fn new(
        bodies: &'a [Instruction<'m>],
        globals: &'a HashSet<u32>,
        dead: &'a HashSet<u32>,
        declarations: &'a Declarations<'m>,
    ) -> Self {
        let mut made_by = HashMap::new();
        for (at, instruction) in bodies.iter().enumerate() {
            if has_result(instruction.op()) {
                made_by.insert(instruction.word(2), at);
            }
        }
        Self {
            bodies,
            globals,
            dead,
            declarations,
            made_by,
            stores: HashMap::new(),
            live: HashSet::new(),
            pending: Vec::new(),
        }
    }

    fn run(mut self, activity: &mut Activity) {
        for (at, instruction) in self.bodies.iter().enumerate() {
            for word in named(*instruction) {
                if self.globals.contains(&word) {
                    activity.named.insert(word);
                }
            }
            match instruction.op() {
                Op::Store | Op::CopyMemory => {
                    let base = self.base(instruction.word(1));
                    if self.is_own(base) {
                        self.stores.entry(base).or_default().push(at);
                    } else {
                        self.root(*instruction);
                    }
                }
                op if is_pure(*instruction, op) => {}
                _ => self.root(*instruction),
            }
        }
        while let Some(id) = self.pending.pop() {
            if !self.live.insert(id) {
                continue;
            }
            for at in self.stores.remove(&id).unwrap_or_default() {
                self.root(self.bodies[at]);
            }
            if let Some(at) = self.made_by.get(&id) {
                let instruction = self.bodies[*at];
                self.pending.extend(named(instruction));
            }
        }
        self.note_uses(activity);
    }

    /// Makes everything live that an instruction names.
    fn root(&mut self, instruction: Instruction<'_>) {
        self.pending.extend(named(instruction));
        if has_result(instruction.op()) {
            self.pending.push(instruction.word(2));
        }
    }

    /// Whether stores into a variable matter only if it is read: one of a function, a private one, or a dead one.
    fn is_own(&self, base: u32) -> bool {
        let made_here = self.made_by.get(&base).is_some_and(|at| self.bodies[*at].op() == Op::Variable);
        made_here || self.declarations.is_private(base) || self.dead.contains(&base)
    }

    /// The variable or parameter that a pointer leads to.
    fn base(&self, mut pointer: u32) -> u32 {
        while let Some(at) = self.made_by.get(&pointer) {
            let instruction = self.bodies[*at];
            match instruction.op() {
                Op::AccessChain | Op::InBoundsAccessChain | Op::CopyObject => pointer = instruction.word(3),
                _ => break,
            }
        }
        pointer
    }

    /// Live uses of global variables.
    fn note_uses(&self, activity: &mut Activity) {
        let mut note = |variable: u32, elements: u32| {
            let used = activity.used.entry(variable).or_default();
            *used = elements.max(*used);
        };
        for instruction in self.bodies {
            let op = instruction.op();
            if matches!(op, Op::AccessChain | Op::InBoundsAccessChain) {
                let base = instruction.word(3);
                if self.globals.contains(&base) && self.live.contains(&instruction.word(2)) {
                    let index = self.declarations.constant(instruction.word(4));
                    note(base, index.map_or(u32::MAX, |index| index.saturating_add(1)));
                }
                continue;
            }
            let counts = !is_pure(*instruction, op) || self.live.contains(&instruction.word(2));
            // What no walk reached is a store that nobody reads.
            for word in named(*instruction).filter(|word| counts && self.live.contains(word)) {
                if self.globals.contains(&word) {
                    note(word, u32::MAX);
                }
            }
        }
    }
}

/// Whether an instruction makes a value in its second word, of the type in its first.
pub(super) fn has_result(op: Op) -> bool {
    let number = op as u32;
    !matches!(
        op,
        Op::Nop
            | Op::Store
            | Op::CopyMemory
            | Op::CopyMemorySized
            | Op::ImageWrite
            | Op::Label
            | Op::Branch
            | Op::BranchConditional
            | Op::Switch
            | Op::LoopMerge
            | Op::SelectionMerge
            | Op::Kill
            | Op::Return
            | Op::ReturnValue
            | Op::Unreachable
            | Op::Line
            | Op::NoLine
            | Op::EmitVertex
            | Op::EndPrimitive
            | Op::ControlBarrier
            | Op::MemoryBarrier
            | Op::AtomicStore
    ) && number < 400
}

/// Whether an instruction does nothing but make a value.
fn is_pure(instruction: Instruction<'_>, op: Op) -> bool {
    match op {
        Op::ExtInst => !WRITING_EXT.contains(&instruction.word(4)),
        Op::Undef
        | Op::Variable
        | Op::Load
        | Op::AccessChain
        | Op::InBoundsAccessChain
        | Op::CopyObject
        | Op::Phi
        | Op::Select
        | Op::FunctionParameter
        | Op::Label => true,
        // Vectors and composites, images but for writes, conversions, arithmetic, logic, bits, derivatives.
        _ => {
            matches!(op as u32, 77..=84 | 86..=98 | 100..=107 | 109..=150 | 154..=191 | 194..=205 | 207..=215)
        }
    }
}

/// Ids that an instruction names. A literal may pass for an id where that harms nothing but the answer's precision.
fn named(instruction: Instruction<'_>) -> impl Iterator<Item = u32> {
    let words = instruction.words;
    let ids = match instruction.op() {
        Op::Label | Op::Kill | Op::Return | Op::Unreachable | Op::Line | Op::NoLine | Op::Nop => &[],
        Op::Branch | Op::LoopMerge | Op::SelectionMerge => &[],
        Op::BranchConditional | Op::Switch => words.get(1..2).unwrap_or(&[]),
        Op::Store => words.get(1..3).unwrap_or(&[]),
        Op::Load | Op::CompositeExtract => words.get(3..4).unwrap_or(&[]),
        Op::CompositeInsert | Op::VectorShuffle => words.get(3..5).unwrap_or(&[]),
        Op::ExtInst => words.get(5..).unwrap_or(&[]),
        Op::FunctionCall => words.get(4..).unwrap_or(&[]),
        Op::Variable => words.get(4..).unwrap_or(&[]),
        Op::FunctionParameter => &[],
        op if has_result(op) => words.get(3..).unwrap_or(&[]),
        _ => words.get(1..).unwrap_or(&[]),
    };
    ids.iter().copied()
}
