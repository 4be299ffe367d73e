#if Brotli
    internal import CBrotli

    /// Brotli, without the large windows that only some programs understand.
    ///
    /// Source: RFC 7932; brotli/decode.h.
    final class BrotliStage: CodingStage {
        private enum State {
            case start
            case within
            case behind
        }

        static let isBuiltIn = true

        private let decoder: OpaquePointer
        private var state = State.start

        static func make() throws(StageFailure) -> (any CodingStage)? { try BrotliStage() }

        init() throws(StageFailure) {
            guard let decoder = BrotliDecoderCreateInstance(nil, nil, nil) else {
                throw .outOfMemory
            }
            self.decoder = decoder
        }

        deinit {
            BrotliDecoderDestroyInstance(decoder)
        }

        var isComplete: Bool { state != .within }

        func decode(
            _ input: UnsafeRawBufferPointer,
            into output: UnsafeMutableRawBufferPointer,
            _ step: inout CodingStep
        ) throws(StageFailure) {
            switch state {
            case .start:
                guard !input.isEmpty else { return }
                state = .within
                try decompress(input, into: output, &step)
            case .within:
                try decompress(input, into: output, &step)
            case .behind:
                guard input.isEmpty else { throw .trailingBytes }
            }
        }

        private func decompress(
            _ input: UnsafeRawBufferPointer,
            into output: UnsafeMutableRawBufferPointer,
            _ step: inout CodingStep
        ) throws(StageFailure) {
            var leftCount = input.count
            var room = output.count
            var source = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var target = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
            let result = BrotliDecoderDecompressStream(
                decoder,
                &leftCount,
                &source,
                &room,
                &target,
                nil
            )
            step.takenCount = input.count - leftCount
            step.madeCount = output.count - room
            switch result {
            case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
                break
            case BROTLI_DECODER_RESULT_SUCCESS:
                state = .behind
                guard leftCount == 0 else { throw .trailingBytes }
            default:
                throw failure()
            }
        }

        private func failure() -> StageFailure {
            let code = BrotliDecoderGetErrorCode(decoder)
            let words = BrotliDecoderErrorString(code).map { String(cString: $0) }
            return .damaged(words ?? "error \(code.rawValue)")
        }
    }
#else
    /// Stands for Brotli in builds without the trait.
    enum BrotliStage {
        static let isBuiltIn = false

        static func make() throws(StageFailure) -> (any CodingStage)? { nil }
    }
#endif
