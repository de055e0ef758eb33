//! The archive of a program whose stages give every location and binding themselves.

use runahead_wire::{
    archive::{ArchiveBlock, ArchiveHead, ArchiveInterface, ArchiveUniform, ArchiveView, TextSpan},
    values::{BlockClass, InterfaceSide, ResourceTarget, ScalarType, StageMask, UniformClass},
};

/// What an archive says of a program's variables: a line for each. None has a name, but for blocks that are given one.
#[derive(Clone, Debug, Default)]
pub struct Reflection {
    uniforms: Vec<ArchiveUniform>,
    interfaces: Vec<ArchiveInterface>,
    blocks: Vec<ArchiveBlock>,
    /// Bytes of the image of loose uniforms.
    image: u32,
    texts: String,
}

impl Reflection {
    fn uniform(mut self, class: UniformClass, location: u32, rest: ArchiveUniform) -> Self {
        let defaults = |given: u8| given.max(1);
        self.uniforms.push(ArchiveUniform {
            variable: location,
            location,
            array_size: rest.array_size.max(1),
            stages: StageMask::ALL.raw(),
            class: class.raw8(),
            columns: defaults(rest.columns),
            rows: defaults(rest.rows),
            ..rest
        });
        self
    }

    /// A loose uniform: a scalar or vector of `rows` components. It lies at the next whole vector of the image.
    #[must_use]
    pub fn value(mut self, location: u32, scalar: ScalarType, rows: u8) -> Self {
        let offset = self.image;
        self.image += 16;
        let value = ArchiveUniform { offset, scalar: scalar.raw8(), rows, ..ArchiveUniform::default() };
        self.uniform(UniformClass::Value, location, value)
    }

    /// A sampler, or an array of them.
    #[must_use]
    pub fn sampler(self, location: u32, target: ResourceTarget, scalar: ScalarType, count: u32) -> Self {
        let (target, scalar) = (target.raw16(), scalar.raw8());
        let sampler = ArchiveUniform { target, scalar, array_size: count, ..ArchiveUniform::default() };
        self.uniform(UniformClass::Sampler, location, sampler)
    }

    /// An image, or an array of them.
    #[must_use]
    pub fn image(self, location: u32, target: ResourceTarget, scalar: ScalarType, count: u32) -> Self {
        let (target, scalar) = (target.raw16(), scalar.raw8());
        let image = ArchiveUniform { target, scalar, array_size: count, ..ArchiveUniform::default() };
        self.uniform(UniformClass::Image, location, image)
    }

    /// A block of `size` bytes at a binding point.
    #[must_use]
    pub fn block(mut self, class: BlockClass, binding: u32, size: u32) -> Self {
        let (stages, class) = (StageMask::ALL.raw(), class.raw());
        self.blocks.push(ArchiveBlock { binding, size, stages, class, ..ArchiveBlock::default() });
        self
    }

    /// A name for the last block, by which its binding can be changed.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        let span = TextSpan { offset: self.texts.len() as u32, size: name.len() as u32 };
        self.texts.push_str(name);
        if let Some(block) = self.blocks.last_mut() {
            block.name = span;
        }
        self
    }

    fn interface(mut self, side: InterfaceSide, location: u32, scalar: ScalarType, index: u32) -> Self {
        self.interfaces.push(ArchiveInterface {
            location,
            array_size: 1,
            side: side.raw8(),
            scalar: scalar.raw8(),
            columns: 1,
            rows: 4,
            index,
            ..ArchiveInterface::default()
        });
        self
    }

    /// An attribute.
    #[must_use]
    pub fn input(self, location: u32, scalar: ScalarType) -> Self {
        self.interface(InterfaceSide::Input, location, scalar, 0)
    }

    /// A colour; `index` is 1 for a second source of blending.
    #[must_use]
    pub fn output(self, location: u32, scalar: ScalarType, index: u32) -> Self {
        self.interface(InterfaceSide::Output, location, scalar, index)
    }

    /// Bytes of the image of loose uniforms.
    pub(super) const fn image_size(&self) -> u32 {
        self.image
    }

    /// The encoded archive.
    pub(super) fn encode(&self) -> Result<Vec<u8>, String> {
        let (uniforms, interfaces, blocks) = (&self.uniforms, &self.interfaces, &self.blocks);
        let view = ArchiveView::new(ArchiveHead::default(), uniforms, interfaces, blocks, &self.texts)
            .map_err(|refusal| refusal.to_string())?;
        let mut bytes = vec![0; view.encoded_len()];
        let written = view.encode(&mut bytes);
        debug_assert!(written, "as long as it says");
        Ok(bytes)
    }
}
