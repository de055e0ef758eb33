//! What is read from a module before it is translated, and what is changed in it.
//!
//! Only what SPIRV-Cross does not tell, or would write in words that OpenGL ES does not have: how many elements a
//! resource has, which outputs transform feedback captures, and the names of members.

use std::collections::HashMap;

use spirv::{BuiltIn, Capability, Decoration, ExecutionMode, Op, StorageClass};

/// Words of a module before its instructions (SPIR-V 1.6, section 2.3).
const HEADER: usize = 5;

/// The instructions of a module, or of what is left of it where their lengths are not sound.
fn instructions(words: &[u32]) -> impl Iterator<Item = (Option<Op>, &[u32])> {
    let mut rest = words.get(HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let (instruction, behind) = rest.split_at_checked((first >> 16) as usize)?;
        // A length of 0 would never end.
        instruction.first()?;
        rest = behind;
        Some((Op::from_u32(first & 0xffff), instruction))
    })
}

/// Whether the lengths of the instructions add up to the module.
fn is_sound(words: &[u32]) -> bool {
    HEADER + instructions(words).map(|(_, instruction)| instruction.len()).sum::<usize>() == words.len()
}

/// A type, as far as sizes need it.
#[derive(Clone, Copy, Debug)]
enum Type<'a> {
    /// Bytes of a scalar.
    Scalar(u32),
    /// Elements of a vector, columns of a matrix or elements of an array, of a type.
    Many(u32, u32),
    /// Members.
    Struct(&'a [u32]),
    /// What a pointer points at.
    Pointer(u32),
}

/// How deep types are followed; a module that nests deeper, or in a ring, has no size.
const DEPTH: u32 = 16;

/// A decoration of a variable or type, or of a member.
#[derive(Clone, Copy, Debug)]
struct Decorated {
    target: u32,
    member: Option<u32>,
    decoration: Decoration,
    value: u32,
}

/// Types, variables and decorations of a module.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    words: &'a [u32],
    types: HashMap<u32, Type<'a>>,
    /// Variables with type and class.
    variables: Vec<(u32, u32, u32)>,
    decorations: Vec<Decorated>,
}

/// What transform feedback captures of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Capture {
    /// Outputs as the shading language names them, in order; none where nothing is captured.
    pub(crate) names: Vec<String>,
    /// Buffers.
    pub(crate) buffers: usize,
    /// Whether each output has a buffer of its own.
    pub(crate) separate: bool,
}

impl<'a> Reader<'a> {
    /// Reads a module; nothing if its instructions have no sound lengths.
    pub(crate) fn new(words: &'a [u32]) -> Option<Self> {
        if !is_sound(words) {
            return None;
        }
        let mut reader =
            Self { words, types: HashMap::new(), variables: Vec::new(), decorations: Vec::new() };
        let mut constants = HashMap::new();
        for (op, instruction) in instructions(words) {
            match (op, instruction) {
                (Some(Op::Decorate), [_, target, decoration, rest @ ..]) => {
                    reader.decorate(*target, None, *decoration, rest);
                }
                (Some(Op::MemberDecorate), [_, target, member, decoration, rest @ ..]) => {
                    reader.decorate(*target, Some(*member), *decoration, rest);
                }
                (Some(Op::TypeInt | Op::TypeFloat), [_, id, width, ..]) => {
                    reader.types.insert(*id, Type::Scalar(width / 8));
                }
                (Some(Op::TypeVector | Op::TypeMatrix), [_, id, of, count]) => {
                    reader.types.insert(*id, Type::Many(*of, *count));
                }
                (Some(Op::TypeArray), [_, id, of, length]) => {
                    let length = constants.get(length).copied().unwrap_or(1);
                    reader.types.insert(*id, Type::Many(*of, length));
                }
                (Some(Op::TypeStruct), [_, id, members @ ..]) => {
                    reader.types.insert(*id, Type::Struct(members));
                }
                (Some(Op::TypePointer), [_, id, _, of]) => {
                    reader.types.insert(*id, Type::Pointer(*of));
                }
                (Some(Op::Constant | Op::SpecConstant), [_, _, id, value, ..]) => {
                    constants.insert(*id, *value);
                }
                (Some(Op::Variable), [_, of, id, class, ..]) => {
                    reader.variables.push((*id, *of, *class));
                }
                _ => {}
            }
        }
        Some(reader)
    }

    fn decorate(&mut self, target: u32, member: Option<u32>, decoration: u32, rest: &[u32]) {
        if let Some(decoration) = Decoration::from_u32(decoration) {
            let value = rest.first().copied().unwrap_or(0);
            self.decorations.push(Decorated { target, member, decoration, value });
        }
    }

    fn decoration(&self, target: u32, member: Option<u32>, wanted: Decoration) -> Option<u32> {
        let mut all = self.decorations.iter();
        all.find(|one| (one.target, one.member, one.decoration) == (target, member, wanted))
            .map(|one| one.value)
    }

    /// Type of a variable.
    fn of(&self, variable: u32) -> Option<u32> {
        let (_, pointer, _) = self.variables.iter().find(|(id, ..)| *id == variable)?;
        match self.types.get(pointer) {
            Some(Type::Pointer(of)) => Some(*of),
            _ => None,
        }
    }

    /// Elements of a variable that is an array; nothing for one that is none.
    pub(crate) fn elements(&self, variable: u32) -> Option<u32> {
        match self.types.get(&self.of(variable)?) {
            Some(Type::Many(of, count)) if self.is_resource(*of) => Some(*count),
            _ => None,
        }
    }

    /// Whether a type is not of numbers: a block, a sampler, an image.
    fn is_resource(&self, of: u32) -> bool {
        matches!(self.types.get(&of), Some(Type::Struct(_)) | None)
    }

    /// The first location of a block that stages hand each other: its own, or that of its first member.
    pub(crate) fn block_location(&self, variable: u32) -> Option<u32> {
        let mut of = self.of(variable)?;
        while let Some(Type::Many(element, _)) = self.types.get(&of) {
            of = *element;
        }
        if !matches!(self.types.get(&of), Some(Type::Struct(_)))
            || self.decoration(of, Some(0), Decoration::BuiltIn).is_some()
        {
            return None;
        }
        self.decoration(variable, None, Decoration::Location)
            .or_else(|| self.decoration(of, Some(0), Decoration::Location))
    }

    /// Bytes that transform feedback writes of a type; nothing where it is not of 32-bit numbers.
    fn bytes(&self, of: u32, depth: u32) -> Option<u32> {
        let depth = depth.checked_sub(1)?;
        match self.types.get(&of)? {
            Type::Scalar(4) => Some(4),
            Type::Scalar(_) | Type::Pointer(_) => None,
            Type::Many(of, count) => self.bytes(*of, depth)?.checked_mul(*count),
            Type::Struct(members) => {
                members.iter().try_fold(0_u32, |sum, of| sum.checked_add(self.bytes(*of, depth)?))
            }
        }
    }

    /// What is captured of the outputs, which the shading language names by `letter`.
    ///
    /// # Errors
    /// A layout that OpenGL ES does not have: it captures into one buffer without gaps, or into a buffer each.
    pub(crate) fn capture(&self, letter: char) -> Result<Capture, String> {
        let mut outputs = Vec::new();
        for &(variable, _, class) in &self.variables {
            if class != StorageClass::Output as u32 {
                continue;
            }
            let Some(of) = self.of(variable) else { continue };
            if self.decoration(variable, None, Decoration::Offset).is_some() {
                let location = self.decoration(variable, None, Decoration::Location);
                let name = match (location, self.decoration(variable, None, Decoration::BuiltIn)) {
                    (Some(location), _) => format!("{letter}{location}"),
                    (None, Some(builtin)) => builtin_name(builtin)?.to_owned(),
                    (None, None) => return Err("an output without a location is captured".to_owned()),
                };
                outputs.push((self.place(variable, None, variable)?, self.bytes(of, DEPTH), name));
            }
            if let Some(Type::Struct(members)) = self.types.get(&of) {
                for (member, of_member) in (0..).zip(*members) {
                    if self.decoration(of, Some(member), Decoration::Offset).is_none() {
                        continue;
                    }
                    let name = match self.decoration(of, Some(member), Decoration::BuiltIn) {
                        Some(builtin) => builtin_name(builtin)?.to_owned(),
                        None => {
                            let location = self.block_location(variable);
                            let location = location.ok_or("a block without a location is captured")?;
                            format!("{}.m{member}", stage_block_name(location))
                        }
                    };
                    let place = self.place(of, Some(member), variable)?;
                    outputs.push((place, self.bytes(*of_member, DEPTH), name));
                }
            }
        }
        arrange(outputs)
    }

    /// Buffer, offset and stride of what is captured.
    fn place(&self, target: u32, member: Option<u32>, variable: u32) -> Result<(u32, u32, u32), String> {
        let find = |wanted| {
            self.decoration(target, member, wanted).or_else(|| self.decoration(variable, None, wanted))
        };
        if find(Decoration::Stream).unwrap_or(0) != 0 {
            return Err("a second vertex stream is captured".to_owned());
        }
        let offset = self.decoration(target, member, Decoration::Offset).unwrap_or(0);
        Ok((find(Decoration::XfbBuffer).unwrap_or(0), offset, find(Decoration::XfbStride).unwrap_or(0)))
    }

    /// The module with the members of every struct named by index, and without what it says about capture.
    ///
    /// Names are written into the module: SPIRV-Cross's own reflection of a struct wants the layout of its members,
    /// which a struct outside blocks does not have.
    pub(crate) fn rewritten(&self) -> Vec<u32> {
        let mut out = self.words.get(..HEADER).unwrap_or_default().to_vec();
        let mut names: Vec<u32> = Vec::new();
        for (op, instruction) in instructions(self.words) {
            if let (Some(Op::TypeStruct), [_, id, members @ ..]) = (op, instruction) {
                for (index, _) in (0..).zip(members) {
                    names.extend(member_name(*id, index));
                }
            }
        }
        let mut named = false;
        for (op, instruction) in instructions(self.words) {
            // Debug names lie before these (section 2.4).
            if !named && op.is_some_and(ends_names) {
                out.append(&mut names);
                named = true;
            }
            if !self.is_about_capture(op, instruction) {
                out.extend_from_slice(instruction);
            }
        }
        out
    }

    /// Whether the module says that it needs a capability.
    pub(crate) fn needs(&self, wanted: Capability) -> bool {
        instructions(self.words).any(|(op, instruction)| {
            op == Some(Op::Capability) && instruction.get(1) == Some(&(wanted as u32))
        })
    }

    fn is_about_capture(&self, op: Option<Op>, instruction: &[u32]) -> bool {
        let is = |decoration: u32, wanted: Decoration| decoration == wanted as u32;
        match (op, instruction) {
            (Some(Op::Capability), [_, capability]) => {
                *capability == Capability::TransformFeedback as u32
                    || *capability == Capability::GeometryStreams as u32
            }
            (Some(Op::ExecutionMode), [_, _, mode, ..]) => *mode == ExecutionMode::Xfb as u32,
            (Some(Op::Decorate), [_, target, decoration, ..]) => {
                is(*decoration, Decoration::XfbBuffer)
                    || is(*decoration, Decoration::XfbStride)
                    || is(*decoration, Decoration::Stream)
                    // An offset of a variable is nothing else.
                    || is(*decoration, Decoration::Offset) && self.is_output(*target)
            }
            (Some(Op::MemberDecorate), [_, target, _, decoration, ..]) => {
                is(*decoration, Decoration::XfbBuffer)
                    || is(*decoration, Decoration::XfbStride)
                    || is(*decoration, Decoration::Stream)
                    || is(*decoration, Decoration::Offset) && self.is_output_block(*target)
            }
            _ => false,
        }
    }

    fn is_output(&self, variable: u32) -> bool {
        self.variables.iter().any(|(id, _, class)| *id == variable && *class == StorageClass::Output as u32)
    }

    fn is_output_block(&self, block: u32) -> bool {
        self.variables.iter().any(|(id, _, class)| {
            *class == StorageClass::Output as u32 && {
                let mut of = self.of(*id);
                while let Some(Type::Many(element, _)) = of.and_then(|of| self.types.get(&of)) {
                    of = Some(*element);
                }
                of == Some(block)
            }
        })
    }
}

/// Name of a block that stages hand each other.
pub(crate) fn stage_block_name(location: u32) -> String {
    format!("s{location}")
}

fn builtin_name(builtin: u32) -> Result<&'static str, String> {
    match BuiltIn::from_u32(builtin) {
        Some(BuiltIn::Position) => Ok("gl_Position"),
        Some(BuiltIn::PointSize) => Ok("gl_PointSize"),
        _ => Err(format!("built-in output {builtin} is captured")),
    }
}

/// An output that is captured: buffer, offset and stride, bytes where it has any, and name.
type Output = ((u32, u32, u32), Option<u32>, String);

/// Puts outputs in order, and finds out in which of the two ways they lie.
fn arrange(mut outputs: Vec<Output>) -> Result<Capture, String> {
    outputs.sort_by_key(|((buffer, offset, _), ..)| (*buffer, *offset));
    let Some(((last, ..), ..)) = outputs.last() else { return Ok(Capture::default()) };
    let buffers = *last as usize + 1;
    let separate = buffers > 1;
    let (mut next, mut end) = (0, 0);
    for ((buffer, offset, _), bytes, name) in &outputs {
        let bytes = bytes.ok_or_else(|| format!("{name} is not of 32-bit numbers"))?;
        let fits = if separate { (*buffer, *offset) == (next, 0) } else { *offset == end };
        if !fits {
            return Err(format!("{name} does not lie where OpenGL ES would capture it"));
        }
        next += 1;
        end = if separate { bytes } else { end + bytes };
        let whole = outputs.iter().filter(|((of, ..), ..)| of == buffer);
        let strides = whole.map(|((.., stride), ..)| *stride).max().unwrap_or(0);
        if separate && strides != 0 && strides != bytes {
            return Err(format!("{name} is followed by a gap"));
        }
    }
    let stride = outputs.iter().map(|((.., stride), ..)| *stride).max().unwrap_or(0);
    if !separate && stride != 0 && stride != end {
        return Err("what is captured is followed by a gap".to_owned());
    }
    Ok(Capture { names: outputs.into_iter().map(|(_, _, name)| name).collect(), buffers, separate })
}

/// Whether an instruction lies behind the names of a module.
const fn ends_names(op: Op) -> bool {
    matches!(
        op,
        Op::ModuleProcessed
            | Op::Decorate
            | Op::MemberDecorate
            | Op::DecorationGroup
            | Op::GroupDecorate
            | Op::GroupMemberDecorate
            | Op::DecorateId
            | Op::DecorateString
            | Op::MemberDecorateString
            | Op::TypeForwardPointer
            | Op::Function
    ) || is_type(op)
}

const fn is_type(op: Op) -> bool {
    matches!(op as u32, 19..=39)
}

/// `OpMemberName`, with the index behind an `m` for a name.
fn member_name(id: u32, index: u32) -> impl Iterator<Item = u32> {
    let mut text = format!("m{index}").into_bytes();
    // A NUL ends it, and it fills its words.
    text.resize((text.len() / 4 + 1) * 4, 0);
    let text: Vec<_> = text.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let head = (3 + text.len() as u32) << 16 | Op::MemberName as u32;
    [head, id, index].into_iter().chain(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(buffer: u32, offset: u32, stride: u32, bytes: u32) -> Output {
        ((buffer, offset, stride), Some(bytes), format!("v{buffer}_{offset}"))
    }

    #[test]
    fn captures_lie_in_one_buffer_or_in_one_each() {
        let one = arrange(vec![output(0, 16, 24, 8), output(0, 0, 24, 16)]).expect("interleaved");
        assert_eq!((one.buffers, one.separate, one.names), (1, false, vec!["v0_0".into(), "v0_16".into()]));
        let each = arrange(vec![output(1, 0, 8, 8), output(0, 0, 16, 16)]).expect("separate");
        assert_eq!((each.buffers, each.separate, each.names.len()), (2, true, 2));
        assert_eq!(arrange(vec![]), Ok(Capture::default()));
        for bad in [
            vec![output(0, 4, 8, 4)],
            vec![output(0, 0, 8, 4)],
            vec![output(0, 0, 12, 4), output(0, 8, 12, 4)],
            vec![output(1, 0, 4, 4)],
            vec![output(0, 0, 8, 4), output(1, 0, 4, 4)],
            vec![output(0, 0, 8, 4), output(0, 4, 8, 4), output(1, 0, 4, 4)],
        ] {
            assert!(arrange(bad.clone()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn lengths_that_are_not_sound_are_refused() {
        assert!(Reader::new(&[0; 5]).is_some());
        assert!(Reader::new(&[0; 6]).is_none(), "a length of 0");
        assert!(Reader::new(&[0, 0, 0, 0, 0, 3 << 16]).is_none(), "longer than the module");
        assert!(Reader::new(&[0; 3]).is_none(), "no header");
    }
}
