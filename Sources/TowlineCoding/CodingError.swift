/// Why a coded content could not be decoded.
///
/// Offsets count the bytes that the coding was given, from 0, up to where the trouble was noticed:
/// what is wrong may lie in front of it. For all but the last coding of a chain these are not the
/// bytes of the body, but what the coding behind it was decoded to.
@nonexhaustive
public enum CodingError: Error, Hashable {
    /// A content was coded more often than ``ContentDecoder/codingLimit`` times.
    case tooManyCodings(count: Int)

    /// The coding is not part of this build; the package's trait for it is off.
    case notBuiltIn(ContentCoding)

    /// The bytes are not what the coding makes, or a checksum or a length does not match; the
    /// library's words say what.
    case damaged(ContentCoding, offset: Int, String)

    /// The coded bytes ended too early.
    case cutShort(ContentCoding, offset: Int)

    /// Something else follows the coded bytes.
    case trailingBytes(ContentCoding, offset: Int)

    /// Decoding would take more memory for what was decoded before than the coding may ask for.
    case windowTooLarge(ContentCoding, offset: Int)

    /// The system has no memory for decoding.
    case outOfMemory(ContentCoding)
}

extension CodingError: CustomStringConvertible {
    /// One line for a person.
    public var description: String {
        switch self {
        case .tooManyCodings(let count):
            "the content is coded \(count) times, and \(ContentDecoder.codingLimit) is the limit"
        case .notBuiltIn(let coding):
            "this build cannot undo \(coding.name); the package has a trait for it"
        case .damaged(let coding, let offset, let words):
            "the \(coding.name) content is damaged, as was seen at byte \(offset): \(words)"
        case .cutShort(let coding, let offset):
            "the \(coding.name) content is cut short at byte \(offset)"
        case .trailingBytes(let coding, let offset):
            "at byte \(offset) something follows the \(coding.name) content that is not part of it"
        case .windowTooLarge(let coding, let offset):
            "the \(coding.name) content asks at byte \(offset) for too much memory to be decoded"
        case .outOfMemory(let coding):
            "there is no memory for decoding \(coding.name)"
        }
    }
}
