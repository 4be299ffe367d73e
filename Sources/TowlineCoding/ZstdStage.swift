#if Zstd
    internal import CZstd

    /// Zstandard: frames, and between them such as are to be skipped.
    ///
    /// Source: RFC 8878; RFC 9659 for the window; zstd.h.
    final class ZstdStage: CodingStage {
        static let isBuiltIn = true

        private let context: OpaquePointer
        /// Whether a frame has begun and not ended.
        private var isWithinFrame = false
        private var hasEndedFrame = false

        /// 8 MiB, the most that a sender may count on.
        private static let windowLogarithm: CInt = 23

        static func make() throws(StageFailure) -> (any CodingStage)? { try ZstdStage() }

        init() throws(StageFailure) {
            guard let context = ZSTD_createDCtx() else { throw .outOfMemory }
            self.context = context
            ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLogarithm)
        }

        deinit {
            ZSTD_freeDCtx(context)
        }

        var isComplete: Bool { !isWithinFrame }

        func decode(
            _ input: UnsafeRawBufferPointer,
            into output: UnsafeMutableRawBufferPointer,
            _ step: inout CodingStep
        ) throws(StageFailure) {
            // Without a frame there is nothing to be had for nothing, and the library would take a
            // call without bytes for the beginning of a frame.
            while isWithinFrame || step.takenCount < input.count {
                if !isWithinFrame { try beginFrame(with: input[step.takenCount]) }
                try decompress(input, into: output, &step)
                let isWaiting = step.takenCount == input.count && isWithinFrame
                guard !isWaiting, step.madeCount < output.count else { return }
            }
        }

        /// Lets only a frame begin, or one that is to be skipped.
        ///
        /// The library may also know formats from before the standard, in which the window that was
        /// set does not bound the memory.
        private func beginFrame(with first: UInt8) throws(StageFailure) {
            guard first == 0x28 || (0x50...0x5F).contains(first) else {
                throw hasEndedFrame ? .trailingBytes : .damaged("no frame of Zstandard begins so")
            }
            isWithinFrame = true
        }

        private func decompress(
            _ input: UnsafeRawBufferPointer,
            into output: UnsafeMutableRawBufferPointer,
            _ step: inout CodingStep
        ) throws(StageFailure) {
            var source = ZSTD_inBuffer(
                src: input.baseAddress,
                size: input.count,
                pos: step.takenCount
            )
            var target = ZSTD_outBuffer(
                dst: output.baseAddress,
                size: output.count,
                pos: step.madeCount
            )
            let result = ZSTD_decompressStream(context, &target, &source)
            step.takenCount = source.pos
            step.madeCount = target.pos
            guard ZSTD_isError(result) == 0 else { throw failure(of: result) }
            guard result == 0 else { return }
            isWithinFrame = false
            hasEndedFrame = true
        }

        private func failure(of result: Int) -> StageFailure {
            switch ZSTD_getErrorCode(result) {
            case ZSTD_error_frameParameter_windowTooLarge: .windowTooLarge
            case ZSTD_error_memory_allocation: .outOfMemory
            default: .damaged(String(cString: ZSTD_getErrorName(result)))
            }
        }
    }
#else
    /// Stands for Zstandard in builds without the trait.
    enum ZstdStage {
        static let isBuiltIn = false

        static func make() throws(StageFailure) -> (any CodingStage)? { nil }
    }
#endif
