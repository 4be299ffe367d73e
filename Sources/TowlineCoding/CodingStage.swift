/// One coding of a chain, undone in steps.
protocol CodingStage: AnyObject {
    /// Whether what was taken so far is nothing, or whole.
    var isComplete: Bool { get }

    /// Decodes until `input` is taken or `output` is full, and counts both in `step`.
    ///
    /// If `output` was filled, there may be more to be had without further input. It is never
    /// empty. What `step` counts when an error is thrown was taken and made in front of what is
    /// wrong.
    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        _ step: inout CodingStep
    ) throws(StageFailure)
}

/// What a step took from its input and made of its output, in bytes.
struct CodingStep: Equatable {
    var takenCount = 0
    var madeCount = 0
}

/// Why a stage cannot go on; its link knows of which coding and where.
enum StageFailure: Error {
    case damaged(String)
    case trailingBytes
    case windowTooLarge
    case outOfMemory

    func error(in coding: ContentCoding, offset: Int) -> CodingError {
        switch self {
        case .damaged(let words): .damaged(coding, offset: offset, words)
        case .trailingBytes: .trailingBytes(coding, offset: offset)
        case .windowTooLarge: .windowTooLarge(coding, offset: offset)
        case .outOfMemory: .outOfMemory(coding)
        }
    }
}

/// What undoes no coding at all, so that a chain of none is like any other.
final class CopyStage: CodingStage {
    let isComplete = true

    func decode(
        _ input: UnsafeRawBufferPointer,
        into output: UnsafeMutableRawBufferPointer,
        _ step: inout CodingStep
    ) {
        let count = min(input.count, output.count)
        // `count` bytes lie within both.
        output.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        step = CodingStep(takenCount: count, madeCount: count)
    }
}
