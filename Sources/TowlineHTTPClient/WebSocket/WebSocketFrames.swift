internal import Towline

/// What a frame is.
///
/// Source: RFC 6455 section 5.2.
enum WebSocketOpcode: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= 8 }
}

/// Messages into the bytes of frames.
enum WebSocketEncoder {
    /// One frame with all of a message, masked as a client has to.
    static func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8], mask: UInt32) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(payload.count + 14)
        output.append(0x80 | opcode.rawValue)
        switch payload.count {
        case ..<126:
            output.append(0x80 | UInt8(payload.count))
        case ..<65_536:
            output.append(0x80 | 126)
            output += [UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            output.append(0x80 | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        let key = (0..<4).map { UInt8(truncatingIfNeeded: mask >> UInt32(24 - 8 * $0)) }
        output += key
        for (index, byte) in payload.enumerated() { output.append(byte ^ key[index & 3]) }
        return output
    }

    /// The payload of a close.
    static func closePayload(_ code: UInt16?, _ reason: String) -> [UInt8] {
        guard let code else { return [] }
        var text = ""
        for character in reason {
            guard text.utf8.count + character.utf8.count <= 123 else { break }
            text.append(character)
        }
        return [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(text.utf8)
    }
}

/// The bytes of frames into messages, however they are cut; holds one message at most.
struct WebSocketDecoder {
    enum Event: Equatable {
        case text(String)
        case binary([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        case close(UInt16?, String)
    }

    private struct Frame {
        let opcode: WebSocketOpcode
        let isLast: Bool
        var missing: Int
    }

    private let limit: Int
    private var header: [UInt8] = []
    private var frame: Frame?
    private var control: [UInt8] = []
    private var message: [UInt8] = []
    /// What the message is that has begun.
    private var kind: WebSocketOpcode?

    /// Takes messages of up to that many bytes.
    init(limit: Int) {
        self.limit = max(0, limit)
    }

    /// The next message; `nil` where more bytes are needed.
    mutating func next(
        in bytes: RawSpan,
        from offset: inout Int
    ) throws(WebSocketFault) -> Event? {
        while true {
            guard var frame else {
                guard offset < bytes.byteCount else { return nil }
                header += [UInt8](bytes.extracting(offset..<(offset + 1)))
                offset += 1
                self.frame = try readHeader()
                continue
            }
            let count = min(frame.missing, bytes.byteCount - offset)
            if count > 0 {
                let part = [UInt8](bytes.extracting(offset..<(offset + count)))
                if frame.opcode.isControl { control += part } else { message += part }
                offset += count
                frame.missing -= count
            }
            self.frame = frame
            guard frame.missing == 0 else { return nil }
            self.frame = nil
            if let event = try end(of: frame) { return event }
        }
    }

    /// The frame that the header's bytes say, once all of them are there.
    private mutating func readHeader() throws(WebSocketFault) -> Frame? {
        guard header[0] & 0x70 == 0 else { throw .reservedBits }
        guard let opcode = WebSocketOpcode(rawValue: header[0] & 0x0F) else {
            throw .opcode(header[0] & 0x0F)
        }
        guard header.count >= 2 else { return nil }
        guard header[1] & 0x80 == 0 else { throw .masked }
        let isLast = header[0] & 0x80 != 0
        var length = Int(header[1])
        if opcode.isControl, length > 125 || !isLast { throw .control }
        let lengthCount = length == 126 ? 2 : length == 127 ? 8 : 0
        guard header.count == 2 + lengthCount else { return nil }
        if lengthCount > 0 {
            guard header[2] < 0x80 || lengthCount == 2 else { throw .length }
            length = header[2...].reduce(0) { $0 << 8 | Int($1) }
            guard length >= (lengthCount == 2 ? 126 : 65_536) else { throw .length }
        }
        header = []
        if !opcode.isControl {
            guard (opcode == .continuation) == (kind != nil) else { throw .order }
            if opcode != .continuation { kind = opcode }
            guard length <= limit - message.count else { throw .tooLarge(limit) }
        }
        return Frame(opcode: opcode, isLast: isLast, missing: length)
    }

    private mutating func end(of frame: Frame) throws(WebSocketFault) -> Event? {
        if frame.opcode.isControl {
            let payload = control
            control = []
            switch frame.opcode {
            case .ping: return .ping(payload)
            case .pong: return .pong(payload)
            default: return try Self.close(payload)
            }
        }
        guard frame.isLast, let kind else { return nil }
        let payload = message
        message = []
        self.kind = nil
        guard kind == .text else { return .binary(payload) }
        guard let text = String(validating: payload, as: UTF8.self) else { throw .text }
        return .text(text)
    }

    private static func close(_ payload: [UInt8]) throws(WebSocketFault) -> Event {
        if payload.isEmpty { return .close(nil, "") }
        guard payload.count >= 2 else { throw .closePayload }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard WebSocketCloseCode.isSendable(code),
            let reason = String(validating: payload[2...], as: UTF8.self)
        else { throw .closePayload }
        return .close(code, reason)
    }
}

/// The numbers that say why a connection closes.
///
/// Source: RFC 6455 section 7.4.
enum WebSocketCloseCode {
    static let normal: UInt16 = 1_000

    /// Whether it may stand in a frame: some numbers only say that there was none.
    static func isSendable(_ code: UInt16) -> Bool {
        switch code {
        case 1_000...1_003, 1_007...1_014, 3_000...4_999: true
        default: false
        }
    }
}

/// What is wrong with the frames of a server.
@nonexhaustive
public enum WebSocketFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// A bit is set that means nothing.
    case reservedBits
    /// There is no such kind of frame.
    case opcode(UInt8)
    /// It is masked, as no server's may be.
    case masked
    /// A control frame is too long, or in parts.
    case control
    /// A length is written in more bytes than it needs, or beyond all bounds.
    case length
    /// A part of a message stands where none may, or none where one should.
    case order
    /// A message is larger than so many bytes.
    case tooLarge(Int)
    /// A text is no UTF-8.
    case text
    /// A close says what none may.
    case closePayload

    /// What is wrong, as a sentence.
    public var description: String {
        switch self {
        case .reservedBits: "a frame has reserved bits set"
        case .opcode(let opcode): "a frame has opcode \(opcode), which does not exist"
        case .masked: "a frame is masked, as no server's may be"
        case .control: "a control frame is too long, or in parts"
        case .length: "a frame's length is written in more bytes than it needs"
        case .order: "the parts of a message are out of order"
        case .tooLarge(let limit): "a message is larger than \(limit) bytes"
        case .text: "a text is no UTF-8"
        case .closePayload: "a close frame says what none may"
        }
    }

    /// The number that tells the server.
    var closeCode: UInt16 {
        switch self {
        case .tooLarge: 1_009
        case .text: 1_007
        default: 1_002
        }
    }
}
