//! One compiled stage: its module, cut down to what matters, and the variables at its edges.

use std::collections::HashSet;

use ::spirv::SourceLanguage;

use super::{
    Environment, Stage, active,
    spirv::{self, Decoration, HEADER, Instruction, Op, StorageClass},
    types::{Declarations, Type},
};

/// SPIR-V 1.0 as the second word of a module has it.
const VERSION: u32 = 0x0001_0000;

/// Where a variable stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside any block; the same in every stage.
    Uniform,
    /// From the stage before, or an attribute.
    Input,
    /// To the stage behind, or a colour.
    Output,
}

/// A variable at a stage's edge.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub(super) id: u32,
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) ty: Type,
    /// Structures in its type, by id and name. Stages agree on the names, which the shading languages ask for.
    pub(super) structures: Vec<(u32, String)>,
    /// Whether it has less than high precision.
    pub(super) relaxed: bool,
    pub(super) invariant: bool,
    pub(super) flat: bool,
    /// `layout(location = …)`.
    pub(super) location: Option<u32>,
    /// `layout(binding = …)`.
    pub(super) binding: Option<u32>,
    /// Whether code that `main` can reach names it.
    pub(super) named: bool,
    /// Elements used where that matters, `u32::MAX` for all and for what is no array; 0 if it is not active.
    pub(super) used: u32,
}

impl Variable {
    /// Whether its value can matter.
    pub(super) fn is_active(&self) -> bool {
        self.used > 0
    }
}

/// A stage that compiled on its own.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) stage: Stage,
    /// Language and version of the source.
    pub(super) version: (u32, u32),
    /// The module without debugging aids, without decorations of `variables` that linking gives, and without what
    /// `main` cannot reach.
    words: Vec<u32>,
    /// Names, and then decorations, go here.
    annotations: usize,
    /// Variables at the stage's edge, in the order of the module, which is that of their first use.
    pub(super) variables: Vec<Variable>,
}

impl Unit {
    /// Reads the compiler's output.
    ///
    /// # Errors
    /// The log for a stage with what this front cannot carry.
    pub(super) fn read(stage: Stage, words: &[u32]) -> Result<Self, String> {
        let bad = |what: &str| format!("error: {} shader: {what}\n", stage.name());
        if words.len() < HEADER || words[0] != ::spirv::MAGIC_NUMBER {
            return Err(bad("the compiler made no module"));
        }
        let instructions: Vec<_> = spirv::instructions(words).collect();
        let mut declarations = Declarations::default();
        let mut version = (0, 0);
        let mut entry = 0;
        let mut globals = Vec::new();
        let mut decorations: Vec<Instruction<'_>> = Vec::new();
        for instruction in instructions.iter().take_while(|one| one.op() != Op::Function) {
            declarations.note(*instruction);
            match instruction.op() {
                Op::Source => version = (instruction.word(1), instruction.word(2)),
                Op::EntryPoint => entry = instruction.word(2),
                Op::Decorate => decorations.push(*instruction),
                Op::Variable => globals.push(*instruction),
                _ => {}
            }
        }
        let ids: HashSet<u32> = globals.iter().map(|global| global.word(2)).collect();
        let activity = active::find(entry, &instructions, &ids, &HashSet::new(), &declarations);
        let mut variables = Vec::new();
        for global in globals {
            let id = global.word(2);
            let named = activity.named.contains(&id);
            let has = |wanted: Decoration| {
                let found = |one: &&Instruction<'_>| one.word(1) == id && one.word(2) == wanted as u32;
                decorations.iter().find(found).map(|one| one.word(3))
            };
            let ty = declarations.pointee(global.word(1));
            let place = match StorageClass::from_u32(global.word(3)) {
                Some(StorageClass::UniformConstant) => Place::Uniform,
                Some(StorageClass::Input) => Place::Input,
                Some(StorageClass::Output) => Place::Output,
                Some(StorageClass::Private | StorageClass::Function) => continue,
                _ if !named => continue,
                _ => {
                    return Err(bad(
                        "a uniform or storage block, which this version of the driver cannot carry",
                    ));
                }
            };
            if has(Decoration::BuiltIn).is_some() || builtin_members(&decorations, &instructions, ty) {
                continue;
            }
            let name = declarations.name(id).to_owned();
            if place == Place::Uniform && named && global.words.len() > 4 {
                return Err(bad(&format!(
                    "{name}: a uniform with an initial value, which cannot be carried yet"
                )));
            }
            let mut structures = Vec::new();
            declarations.structures(ty, &mut structures);
            variables.push(Variable {
                id,
                name,
                place,
                ty: declarations.read(ty),
                structures: structures.iter().map(|id| (*id, declarations.name(*id).to_owned())).collect(),
                relaxed: has(Decoration::RelaxedPrecision).is_some(),
                invariant: has(Decoration::Invariant).is_some(),
                flat: has(Decoration::Flat).is_some(),
                location: has(Decoration::Location),
                binding: has(Decoration::Binding),
                named,
                used: activity.used.get(&id).copied().unwrap_or(0),
            });
        }
        let gone = Gone {
            globals: ids.iter().copied().filter(|id| !activity.named.contains(id)).collect(),
            functions: &activity.functions,
            at_edge: variables.iter().map(|variable| variable.id).collect(),
            inputs: variables.iter().filter(|one| one.place == Place::Input).map(|one| one.id).collect(),
        };
        let (words, annotations) = gone.strip(words, &instructions);
        Ok(Self { stage, version, words, annotations, variables })
    }

    /// Whether a context takes the version of the source.
    ///
    /// # Errors
    /// An info log.
    pub(super) fn check_version(&self, environment: &Environment) -> Result<(), String> {
        let (language, version) = self.version;
        let es = language == SourceLanguage::ESSL as u32;
        let newest = if es { environment.essl } else { environment.glsl };
        if version <= newest {
            return Ok(());
        }
        let taken: Vec<_> = [(environment.essl, " es"), (environment.glsl, "")]
            .iter()
            .filter(|(newest, _)| *newest > 0)
            .map(|(newest, profile)| format!("{newest}{profile}"))
            .collect();
        let profile = if es { " es" } else { "" };
        Err(format!(
            "1: error: version {version}{profile} is not supported; the newest is {}\n",
            taken.join(" or ")
        ))
    }

    /// The variables when nobody takes what is written to these outputs.
    pub(super) fn narrowed(&self, dead: &HashSet<u32>) -> Vec<Variable> {
        let instructions: Vec<_> = spirv::instructions(&self.words).collect();
        let mut declarations = Declarations::default();
        let mut entry = 0;
        for instruction in instructions.iter().take_while(|one| one.op() != Op::Function) {
            declarations.note(*instruction);
            if instruction.op() == Op::EntryPoint {
                entry = instruction.word(2);
            }
        }
        let ids = self.variables.iter().map(|variable| variable.id).collect();
        let activity = active::find(entry, &instructions, &ids, dead, &declarations);
        let mut variables = self.variables.clone();
        for variable in &mut variables {
            variable.used = activity.used.get(&variable.id).copied().unwrap_or(0);
        }
        variables
    }

    /// The module with these names and decorations besides: (id, name), and (id, decoration, value).
    pub(super) fn module(&self, names: &[(u32, String)], decorations: &[(u32, Decoration, u32)]) -> Vec<u32> {
        let (before, behind) = self.words.split_at(self.annotations);
        let mut words = before.to_vec();
        for (id, name) in names {
            let mut operands = vec![*id];
            operands.extend(spirv::literal(name));
            spirv::push(&mut words, Op::Name, &operands);
        }
        for (id, decoration, value) in decorations {
            spirv::push(&mut words, Op::Decorate, &[*id, *decoration as u32, *value]);
        }
        words.extend_from_slice(behind);
        words
    }
}

/// Whether a variable's type is a structure of built-in variables.
fn builtin_members(decorations: &[Instruction<'_>], instructions: &[Instruction<'_>], ty: u32) -> bool {
    let block = |one: &&Instruction<'_>| one.word(1) == ty && one.word(2) == Decoration::Block as u32;
    decorations.iter().any(|one| block(&one))
        && instructions.iter().any(|one| {
            one.op() == Op::MemberDecorate && one.word(1) == ty && one.word(3) == Decoration::BuiltIn as u32
        })
}

/// What of a module goes.
struct Gone<'a> {
    /// Global variables that nothing names.
    globals: HashSet<u32>,
    /// Functions that stay.
    functions: &'a HashSet<u32>,
    /// Variables whose place linking decides.
    at_edge: HashSet<u32>,
    /// Those of them that are inputs: their being invariant means nothing, and later languages refuse it.
    inputs: HashSet<u32>,
}

impl Gone<'_> {
    /// The rest of the module, and where its annotations begin.
    fn strip(&self, words: &[u32], instructions: &[Instruction<'_>]) -> (Vec<u32>, usize) {
        // Ids made in functions that go, whose decorations go too.
        let mut ids = self.globals.clone();
        let mut inside = false;
        for instruction in instructions {
            match instruction.op() {
                Op::Function => inside = !self.functions.contains(&instruction.word(2)),
                Op::FunctionEnd => inside = false,
                _ => {}
            }
            if inside {
                // What is no result may be taken for one: then it is no id that stays, or one that is named again
                // below.
                match instruction.op() {
                    Op::Label => ids.insert(instruction.word(1)),
                    op if active::has_result(op) => ids.insert(instruction.word(2)),
                    _ => false,
                };
            }
        }
        let mut out = vec![words[0], VERSION, words[2], words[3], 0];
        let mut annotations = None;
        let mut dropping = false;
        for instruction in instructions {
            let op = instruction.op();
            let debug = matches!(
                op,
                Op::Source
                    | Op::SourceContinued
                    | Op::SourceExtension
                    | Op::String
                    | Op::Name
                    | Op::MemberName
                    | Op::Line
                    | Op::NoLine
                    | Op::ModuleProcessed
            );
            let preamble = matches!(
                op,
                Op::Capability
                    | Op::Extension
                    | Op::ExtInstImport
                    | Op::MemoryModel
                    | Op::EntryPoint
                    | Op::ExecutionMode
            );
            if !debug && !preamble && annotations.is_none() {
                annotations = Some(out.len());
            }
            match op {
                _ if debug => continue,
                Op::EntryPoint => {
                    let (_, len) = instruction.text(3);
                    let (head, interface) = instruction.words[1..].split_at(2 + len);
                    let mut operands = head.to_vec();
                    operands.extend(interface.iter().filter(|id| !self.globals.contains(id)));
                    spirv::push(&mut out, Op::EntryPoint, &operands);
                    continue;
                }
                Op::Decorate | Op::DecorateId => {
                    let target = instruction.word(1);
                    let given = [Decoration::Location, Decoration::Binding, Decoration::DescriptorSet]
                        .iter()
                        .any(|one| *one as u32 == instruction.word(2));
                    let idle =
                        instruction.word(2) == Decoration::Invariant as u32 && self.inputs.contains(&target);
                    if idle || ids.contains(&target) || given && self.at_edge.contains(&target) {
                        continue;
                    }
                }
                Op::Variable if self.globals.contains(&instruction.word(2)) => continue,
                Op::Function => dropping = !self.functions.contains(&instruction.word(2)),
                _ => {}
            }
            if !dropping {
                out.extend_from_slice(instruction.words);
            }
            if op == Op::FunctionEnd {
                dropping = false;
            }
        }
        let end = out.len();
        (out, annotations.unwrap_or(end))
    }
}
