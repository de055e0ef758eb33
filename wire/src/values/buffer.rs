//! Values of buffers, queries, fences and transform feedback.

use super::{masks, values};

values! {
    /// How an application means to use a buffer's data store; a hint.
    pub enum BufferUsage {
        /// None given: the store is immutable.
        Unspecified = 0,
        /// Set once, used a few times, for drawing.
        StreamDraw = 1,
        /// Set once by reading from GL, used a few times by the application.
        StreamRead = 2,
        /// Set once by reading from GL, used a few times for drawing.
        StreamCopy = 3,
        /// Set once, used often, for drawing.
        StaticDraw = 4,
        /// Set once by reading from GL, used often by the application.
        StaticRead = 5,
        /// Set once by reading from GL, used often for drawing.
        StaticCopy = 6,
        /// Set and used often, for drawing.
        DynamicDraw = 7,
        /// Set often by reading from GL, used often by the application.
        DynamicRead = 8,
        /// Set often by reading from GL, used often for drawing.
        DynamicCopy = 9,
    }

    /// Binding class of indexed buffers.
    pub enum ShaderBufferClass {
        /// Uniform buffers.
        Uniform = 0,
        /// Shader storage buffers.
        Storage = 1,
        /// Atomic counter buffers.
        Atomic = 2,
    }

    /// What a query measures.
    pub enum QueryKind {
        /// Samples that passed.
        SamplesPassed = 0,
        /// Whether any sample passed.
        AnySamplesPassed = 1,
        /// Whether any sample passed, answered with false positives allowed.
        AnySamplesPassedConservative = 2,
        /// Primitives that the last vertex stage emitted.
        PrimitivesGenerated = 3,
        /// Primitives written by transform feedback.
        TransformFeedbackPrimitivesWritten = 4,
        /// Nanoseconds of GPU time between begin and end.
        TimeElapsed = 5,
        /// GPU time, in nanoseconds, when the counter record completes.
        Timestamp = 6,
        /// Whether any stream of transform feedback overflowed.
        TransformFeedbackOverflow = 7,
        /// Whether one stream of transform feedback overflowed.
        TransformFeedbackStreamOverflow = 8,
        /// Vertices submitted.
        VerticesSubmitted = 9,
        /// Primitives submitted.
        PrimitivesSubmitted = 10,
        /// Vertex shader invocations.
        VertexShaderInvocations = 11,
        /// Tessellation control shader patches.
        TessControlShaderPatches = 12,
        /// Tessellation evaluation shader invocations.
        TessEvaluationShaderInvocations = 13,
        /// Geometry shader invocations.
        GeometryShaderInvocations = 14,
        /// Primitives that geometry shaders emitted.
        GeometryShaderPrimitivesEmitted = 15,
        /// Fragment shader invocations.
        FragmentShaderInvocations = 16,
        /// Compute shader invocations.
        ComputeShaderInvocations = 17,
        /// Primitives that entered clipping.
        ClippingInputPrimitives = 18,
        /// Primitives that left clipping.
        ClippingOutputPrimitives = 19,
    }

    /// How a verb that depends on a query's result treats one that is not there yet.
    pub enum ConditionalRenderMode {
        /// Wait for it.
        Wait = 0,
        /// Draw.
        NoWait = 1,
        /// Wait for it; it may be applied by region.
        ByRegionWait = 2,
        /// Draw; it may be applied by region.
        ByRegionNoWait = 3,
        /// As `Wait`, with the opposite condition.
        WaitInverted = 4,
        /// As `NoWait`, with the opposite condition.
        NoWaitInverted = 5,
        /// As `ByRegionWait`, with the opposite condition.
        ByRegionWaitInverted = 6,
        /// As `ByRegionNoWait`, with the opposite condition.
        ByRegionNoWaitInverted = 7,
    }

    /// Outcome of a wait for a fence.
    pub enum FenceWaitResult {
        /// It was signalled before the wait.
        AlreadySignaled = 0,
        /// The time ran out.
        TimeoutExpired = 1,
        /// It was signalled during the wait.
        ConditionSatisfied = 2,
        /// The wait failed.
        WaitFailed = 3,
    }
}

masks! {
    /// What an immutable data store allows.
    pub struct StorageFlags {
        /// Contents may be set from client memory.
        DYNAMIC_STORAGE = 0,
        /// The store may be mapped for reading.
        MAP_READ = 1,
        /// The store may be mapped for writing.
        MAP_WRITE = 2,
        /// The store may stay mapped while the server uses it.
        MAP_PERSISTENT = 3,
        /// Writes to a persistent map become visible without a flush.
        MAP_COHERENT = 4,
        /// The store should lie in client memory; a hint.
        CLIENT_STORAGE = 5,
    }

    /// How a range of a buffer is mapped.
    pub struct MapAccess {
        /// For reading.
        READ = 0,
        /// For writing.
        WRITE = 1,
        /// The range's content may be discarded.
        INVALIDATE_RANGE = 2,
        /// The whole buffer's content may be discarded.
        INVALIDATE_BUFFER = 3,
        /// Written parts are flushed explicitly.
        FLUSH_EXPLICIT = 4,
        /// No wait for pending use.
        UNSYNCHRONIZED = 5,
        /// The map outlives use by the server.
        PERSISTENT = 6,
        /// Writes become visible without a flush.
        COHERENT = 7,
    }

    /// How to wait for a fence.
    pub struct FenceWaitFlags {
        /// Submit pending commands first.
        FLUSH_COMMANDS = 0,
    }
}
