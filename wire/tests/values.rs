//! Value types and formats.

use runahead_wire::format::FormatClass;
use runahead_wire::handle::{SHADER_CSO_COMPOSITE_BASE, SHADER_CSO_SLOTS};
use runahead_wire::values::*;
use runahead_wire::{Format, Handle, Kind};
use std::collections::HashSet;

/// Every number from 0 to well past the last one, and the corners: `from_raw` and `raw` are inverse on the
/// values and everything else is refused.
macro_rules! enums {
    ($($name:ident)+) => { $(
        let values = $name::ALL;
        assert_eq!(values.len(), values.iter().map(|value| value.raw()).collect::<HashSet<_>>().len());
        for value in values {
            assert_eq!($name::from_raw(value.raw()), Some(*value), "{} {value:?}", $name::NAME);
        }
        let largest = values.iter().map(|value| value.raw()).max().expect("values");
        for number in (0..=largest + 300).chain([u32::MAX, 1 << 31, 1 << 16]) {
            let known = values.iter().any(|value| value.raw() == number);
            assert_eq!($name::from_raw(number).is_some(), known, "{} {number}", $name::NAME);
        }
        assert_eq!($name::NAME, stringify!($name));
    )+ };
}

#[test]
fn enums_take_their_numbers_and_no_other() {
    enums!(
        ResourceTarget StorageKind UploadTarget SurfaceKind FramebufferTarget ClearKind ValueClass InvalidateTarget
        SharedImageOp BufferUsage ShaderBufferClass QueryKind ConditionalRenderMode FenceWaitResult Topology SpirvStatus
        AttribType CompareOp StencilOp BlendFactor BlendOp LogicOp CullFace FrontFace ProvokingVertex PolygonMode
        ClipOrigin ClipDepthMode HintMode PointSpriteOrigin ClampReadColor Wrap Filter MipFilter CompareMode
        BorderColorForm Swizzle DepthStencilMode ImageAccess PixelFormat PixelType BackendKind ShaderDialect ErrorKind
        RefusedReason DebugMarkOp Kind
    );
    let _ = Format::NAME;
    enums!(Format);
}

macro_rules! masks {
    ($($name:ident)+) => { $(
        let all = $name::ALL.raw();
        assert_eq!($name::from_raw(all), Some($name::ALL));
        assert_eq!($name::from_raw(0), Some($name::EMPTY));
        for bit in 0..32 {
            assert_eq!($name::from_raw(1 << bit).is_some(), all & 1 << bit != 0, "{} bit {bit}", $name::NAME);
            assert_eq!($name::from_raw(all | 1 << bit).is_some(), all & 1 << bit != 0, "{} bit {bit}", $name::NAME);
        }
    )+ };
}

#[test]
fn masks_take_their_bits_and_no_other() {
    masks!(
        BindMask BufferMask AttachmentMask StorageFlags MapAccess FenceWaitFlags DrawFlags BarrierBits StageMask
        ViewportMask ClipDistances CapsBits FormatFeatures
    );
}

#[test]
fn numbers_that_were_fixed_before_stay() {
    assert_eq!(ResourceTarget::TextureRectangle.raw(), 12);
    assert_eq!(Kind::Context.raw(), 13);
    assert_eq!(SurfaceKind::from_raw(1), None);
    assert_eq!(ImageAccess::ReadWrite.raw(), 2);
    assert_eq!(BindMask::ELEMENT_ARRAY.raw(), 1 << 11);
    assert_eq!(DrawFlags::PRIMITIVE_RESTART.raw(), 2);
    assert_eq!(DrawFlags::HAS_INDEX_RANGE.raw(), 8);
    assert_eq!(DrawFlags::HAS_XFB_COUNT.raw(), 16);
    assert_eq!(DrawFlags::IS_INDIRECT.raw(), 32);
    for burned in [1, 4, 64] {
        assert_eq!(DrawFlags::from_raw(burned), None, "burned bit {burned}");
    }
    assert_eq!((Handle::NULL, Handle::DEFAULT_FRAMEBUFFER), (Handle::new(0, 0), Handle::new(0, 1)));
    assert_eq!((SHADER_CSO_SLOTS, SHADER_CSO_COMPOSITE_BASE), (1_048_576, 983_040));
}

/// Against the tables of the Khronos specifications.
#[test]
fn format_blocks() {
    let block = |format: Format| {
        let block = format.block();
        (block.width, block.height, block.bytes)
    };
    for (format, expected) in [
        (Format::R8, (1, 1, 1)),
        (Format::Rgb8, (1, 1, 3)),
        (Format::Rgba32Ui, (1, 1, 16)),
        (Format::Rgb16F, (1, 1, 6)),
        (Format::Rgb9E5, (1, 1, 4)),
        (Format::Rgb565, (1, 1, 2)),
        (Format::Depth32FStencil8, (1, 1, 8)),
        (Format::Luminance8Alpha8, (1, 1, 2)),
        (Format::Etc1Rgb8, (4, 4, 8)),
        (Format::Rgb8Etc2, (4, 4, 8)),
        (Format::Rgba8Etc2Eac, (4, 4, 16)),
        (Format::R11Eac, (4, 4, 8)),
        (Format::Rg11Eac, (4, 4, 16)),
        (Format::RgbS3tcDxt1, (4, 4, 8)),
        (Format::RgbaS3tcDxt5, (4, 4, 16)),
        (Format::RedRgtc1, (4, 4, 8)),
        (Format::RgRgtc2, (4, 4, 16)),
        (Format::RgbBptcUnsignedFloat, (4, 4, 16)),
        (Format::RgbaAstc4x4, (4, 4, 16)),
        (Format::RgbaAstc10x6, (10, 6, 16)),
        (Format::Srgb8Alpha8Astc12x12, (12, 12, 16)),
    ] {
        assert_eq!(block(format), expected, "{format:?}");
    }
    assert_eq!(Format::ALL.iter().filter(|format| format.is_compressed()).count(), 11 + 16 + 28);
    for format in Format::ALL {
        let bytes = format.block().bytes;
        assert_eq!(bytes == 0, *format == Format::Undefined);
        assert_eq!(format.class() == FormatClass::Undefined, *format == Format::Undefined);
        assert!(!format.is_compressed() || bytes == 8 || bytes == 16, "{format:?}");
    }
}

#[test]
fn level_sizes() {
    assert_eq!(Format::Rgba8.level_bytes(3, 2, 1), Some(24));
    assert_eq!(Format::RgbaAstc5x4.level_bytes(6, 4, 2), Some(64));
    assert_eq!(Format::RgbS3tcDxt1.level_bytes(1, 1, 1), Some(8));
    assert_eq!(Format::RgbS3tcDxt1.level_bytes(0, 1, 1), Some(0));
    assert_eq!(Format::Rgba32F.level_bytes(u32::MAX, u32::MAX, 1), None);
    assert_eq!(Format::R8.level_bytes(u32::MAX, u32::MAX, 1), Some(u64::from(u32::MAX).pow(2)));
    assert_eq!(Format::R8.level_bytes(u32::MAX, u32::MAX, u32::MAX), None);
}
