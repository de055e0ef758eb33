//! Types of a module's variables, as values that can be compared between stages.

use std::collections::{HashMap, HashSet};

use runahead_wire::values::{ResourceTarget, ScalarType};

use super::spirv::{Decoration, Instruction, Op, StorageClass};

/// Deepest nesting of a variable's type. Sources are refused long before.
const DEPTH: usize = 64;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Scalars, vectors and matrices: `columns` columns of `rows` components.
    Value { scalar: ScalarType, columns: u8, rows: u8 },
    /// A combined image sampler.
    Sampler { scalar: ScalarType, target: ResourceTarget, shadow: bool },
    /// `count` elements.
    Array { of: Box<Type>, count: u32 },
    /// A structure.
    Struct { name: String, members: Vec<Member> },
    /// What a linked program cannot carry, by the reason.
    Other(&'static str),
}

/// Member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) relaxed: bool,
    pub(super) ty: Type,
}

impl Type {
    /// Scalars, vectors, matrices and samplers in it; what is too many to count is `u32::MAX`.
    pub(super) fn leaves(&self) -> u32 {
        match self {
            Self::Value { .. } | Self::Sampler { .. } | Self::Other(_) => 1,
            Self::Array { of, count } => of.leaves().saturating_mul(*count),
            Self::Struct { members, .. } => {
                members.iter().fold(0, |sum, member| sum.saturating_add(member.ty.leaves()))
            }
        }
    }

    /// Locations that it takes as an input or output: one a column.
    pub(super) fn slots(&self) -> u32 {
        match self {
            Self::Value { columns, .. } => u32::from(*columns),
            Self::Array { of, count } => of.slots().saturating_mul(*count),
            Self::Struct { members, .. } => {
                members.iter().fold(0, |sum, member| sum.saturating_add(member.ty.slots()))
            }
            Self::Sampler { .. } | Self::Other(_) => 1,
        }
    }

    /// Why a program cannot have it; none for what it can.
    pub(super) fn refusal(&self) -> Option<&'static str> {
        match self {
            Self::Value { .. } | Self::Sampler { .. } => None,
            Self::Array { of, .. } => of.refusal(),
            Self::Struct { members, .. } => members.iter().find_map(|member| member.ty.refusal()),
            Self::Other(why) => Some(why),
        }
    }

    /// The type as a source would say it.
    pub(super) fn spell(&self) -> String {
        match self {
            Self::Value { scalar, columns: 1, rows: 1 } => match scalar {
                ScalarType::Float => "float",
                ScalarType::Int => "int",
                ScalarType::UnsignedInt => "uint",
                ScalarType::Bool => "bool",
                ScalarType::Double => "double",
            }
            .into(),
            Self::Value { scalar, columns: 1, rows } => {
                let letter = match scalar {
                    ScalarType::Float => "",
                    ScalarType::Int => "i",
                    ScalarType::UnsignedInt => "u",
                    ScalarType::Bool => "b",
                    ScalarType::Double => "d",
                };
                format!("{letter}vec{rows}")
            }
            Self::Value { columns, rows, .. } if columns == rows => format!("mat{columns}"),
            Self::Value { columns, rows, .. } => format!("mat{columns}x{rows}"),
            Self::Sampler { target, .. } => format!("a sampler of {target:?}"),
            Self::Array { of, count } => format!("{}[{count}]", of.spell()),
            Self::Struct { name, .. } => format!("struct {name}"),
            Self::Other(why) => (*why).into(),
        }
    }
}

/// Declarations of a module that types are read from, by id.
#[derive(Debug, Default)]
pub(super) struct Declarations<'a> {
    declared: HashMap<u32, Instruction<'a>>,
    names: HashMap<u32, String>,
    member_names: HashMap<(u32, u32), String>,
    relaxed_members: HashSet<(u32, u32)>,
    private: HashSet<u32>,
}

impl<'a> Declarations<'a> {
    /// Takes note of an instruction of the module's sections before its functions.
    pub(super) fn note(&mut self, instruction: Instruction<'a>) {
        match instruction.op() {
            Op::Name => {
                self.names.insert(instruction.word(1), instruction.text(2).0);
            }
            Op::MemberName => {
                let member = (instruction.word(1), instruction.word(2));
                self.member_names.insert(member, instruction.text(3).0);
            }
            Op::MemberDecorate if instruction.word(3) == Decoration::RelaxedPrecision as u32 => {
                self.relaxed_members.insert((instruction.word(1), instruction.word(2)));
            }
            Op::Variable if instruction.word(3) == StorageClass::Private as u32 => {
                self.private.insert(instruction.word(2));
            }
            Op::Constant => {
                self.declared.insert(instruction.word(2), instruction);
            }
            Op::TypeVoid
            | Op::TypeBool
            | Op::TypeInt
            | Op::TypeFloat
            | Op::TypeVector
            | Op::TypeMatrix
            | Op::TypeImage
            | Op::TypeSampler
            | Op::TypeSampledImage
            | Op::TypeArray
            | Op::TypeRuntimeArray
            | Op::TypeStruct
            | Op::TypePointer => {
                self.declared.insert(instruction.word(1), instruction);
            }
            _ => {}
        }
    }

    /// The name of an id; empty for what has none.
    pub(super) fn name(&self, id: u32) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    /// The value of a 32-bit constant.
    pub(super) fn constant(&self, id: u32) -> Option<u32> {
        let constant = self.declared.get(&id)?;
        (constant.op() == Op::Constant).then(|| constant.word(3))
    }

    /// Whether a variable belongs to the module alone.
    pub(super) fn is_private(&self, id: u32) -> bool {
        self.private.contains(&id)
    }

    /// The instruction that declares a type.
    fn declaration(&self, id: u32) -> Option<Instruction<'a>> {
        self.declared.get(&id).copied()
    }

    /// The type behind a pointer type.
    pub(super) fn pointee(&self, pointer: u32) -> u32 {
        self.declaration(pointer)
            .filter(|found| found.op() == Op::TypePointer)
            .map_or(0, |found| found.word(3))
    }

    /// Ids of the structures in a type, outer ones first.
    pub(super) fn structures(&self, id: u32, found: &mut Vec<u32>) {
        let Some(declaration) = self.declaration(id) else { return };
        match declaration.op() {
            Op::TypeArray | Op::TypeRuntimeArray => self.structures(declaration.word(2), found),
            Op::TypeStruct if !found.contains(&id) => {
                found.push(id);
                for member in declaration.from(2) {
                    self.structures(*member, found);
                }
            }
            _ => {}
        }
    }

    /// A type as a value.
    pub(super) fn read(&self, id: u32) -> Type {
        self.read_at(id, 0)
    }

    fn read_at(&self, id: u32, depth: usize) -> Type {
        let Some(declaration) = self.declaration(id).filter(|_| depth < DEPTH) else {
            return Type::Other("a type that no program can have");
        };
        match declaration.op() {
            Op::TypeBool | Op::TypeInt | Op::TypeFloat => match self.scalar(declaration) {
                Some(scalar) => Type::Value { scalar, columns: 1, rows: 1 },
                None => Type::Other("a number of 16 or 64 bits"),
            },
            Op::TypeVector => match self.read_at(declaration.word(2), depth + 1) {
                Type::Value { scalar, .. } => {
                    Type::Value { scalar, columns: 1, rows: declaration.word(3) as u8 }
                }
                other => other,
            },
            Op::TypeMatrix => match self.read_at(declaration.word(2), depth + 1) {
                Type::Value { scalar, rows, .. } => {
                    Type::Value { scalar, columns: declaration.word(3) as u8, rows }
                }
                other => other,
            },
            Op::TypeArray => Type::Array {
                of: Box::new(self.read_at(declaration.word(2), depth + 1)),
                count: self.constant(declaration.word(3)).unwrap_or(1).max(1),
            },
            Op::TypeStruct => Type::Struct {
                name: self.name(id).into(),
                members: (0..)
                    .zip(declaration.from(2))
                    .map(|(index, member)| Member {
                        name: self.member_names.get(&(id, index)).cloned().unwrap_or_default(),
                        relaxed: self.relaxed_members.contains(&(id, index)),
                        ty: self.read_at(*member, depth + 1),
                    })
                    .collect(),
            },
            Op::TypeSampledImage => self.sampler(declaration.word(2)),
            Op::TypeImage => Type::Other("an image"),
            _ => Type::Other("a type that no program can have"),
        }
    }

    fn scalar(&self, declaration: Instruction<'_>) -> Option<ScalarType> {
        match (declaration.op(), declaration.word(2), declaration.word(3)) {
            (Op::TypeBool, ..) => Some(ScalarType::Bool),
            (Op::TypeInt, 32, 0) => Some(ScalarType::UnsignedInt),
            (Op::TypeInt, 32, _) => Some(ScalarType::Int),
            (Op::TypeFloat, 32, _) => Some(ScalarType::Float),
            (Op::TypeFloat, 64, _) => Some(ScalarType::Double),
            _ => None,
        }
    }

    fn sampler(&self, image: u32) -> Type {
        let Some(image) = self.declaration(image).filter(|image| image.op() == Op::TypeImage) else {
            return Type::Other("a sampler of nothing");
        };
        let scalar = self.declaration(image.word(2)).and_then(|texel| self.scalar(texel));
        let (arrayed, multisampled) = (image.word(5) != 0, image.word(6) != 0);
        let target = match (spirv::Dim::from_u32(image.word(3)), arrayed, multisampled) {
            (Some(spirv::Dim::Dim1D), false, _) => ResourceTarget::Texture1D,
            (Some(spirv::Dim::Dim1D), true, _) => ResourceTarget::Texture1DArray,
            (Some(spirv::Dim::Dim2D), false, false) => ResourceTarget::Texture2D,
            (Some(spirv::Dim::Dim2D), true, false) => ResourceTarget::Texture2DArray,
            (Some(spirv::Dim::Dim2D), false, true) => ResourceTarget::Texture2DMultisample,
            (Some(spirv::Dim::Dim2D), true, true) => ResourceTarget::Texture2DMultisampleArray,
            (Some(spirv::Dim::Dim3D), ..) => ResourceTarget::Texture3D,
            (Some(spirv::Dim::DimCube), false, _) => ResourceTarget::CubeMap,
            (Some(spirv::Dim::DimCube), true, _) => ResourceTarget::CubeMapArray,
            (Some(spirv::Dim::DimRect), ..) => ResourceTarget::TextureRectangle,
            (Some(spirv::Dim::DimBuffer), ..) => ResourceTarget::TextureBuffer,
            _ => return Type::Other("a sampler of an unknown kind"),
        };
        match scalar {
            Some(scalar) => Type::Sampler { scalar, target, shadow: image.word(4) == 1 },
            None => Type::Other("a sampler of an unknown kind"),
        }
    }
}
