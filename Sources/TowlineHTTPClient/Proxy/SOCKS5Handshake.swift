internal import Towline

/// How a proxy of SOCKS is asked for a tunnel: bytes in, bytes out; knows no socket.
///
/// Source: RFC 1928; RFC 1929 for user and password.
struct SOCKS5Handshake {
    /// Where the tunnel leads.
    enum Destination: Hashable {
        case name(String)
        case address(IPAddress)
    }

    /// What follows from what came.
    enum Step: Equatable {
        case wait
        case send([UInt8])
        case established
    }

    private enum Phase {
        case methods
        case authentication
        case connecting
    }

    private static let version: UInt8 = 5
    private static let noAuthentication: UInt8 = 0
    private static let userAndPassword: UInt8 = 2

    private let authentication: [UInt8]?
    private let request: [UInt8]
    private var phase = Phase.methods
    private var received: [UInt8] = []

    /// A handshake.
    ///
    /// - Throws: ``SOCKS5Fault/tooLong(_:)`` for what has no place in its messages.
    init(
        to destination: Destination,
        port: UInt16,
        user: String? = nil,
        password: String = ""
    ) throws(SOCKS5Fault) {
        var request = [Self.version, 1, 0]
        switch destination {
        case .name(let name):
            request.append(3)
            try Self.append(name, to: &request, "the name of the host")
        case .address(let address):
            let bytes = address.networkBytes
            request.append(bytes.count == 4 ? 1 : 4)
            request += bytes
        }
        request += [UInt8(port >> 8), UInt8(port & 0xFF)]
        self.request = request
        guard let user else {
            authentication = nil
            return
        }
        var authentication: [UInt8] = [1]
        try Self.append(user, to: &authentication, "the user")
        try Self.append(password, to: &authentication, "the password")
        self.authentication = authentication
    }

    private static func append(
        _ text: String,
        to message: inout [UInt8],
        _ what: String
    ) throws(SOCKS5Fault) {
        guard text.utf8.count <= 255 else { throw .tooLong(what) }
        message.append(UInt8(text.utf8.count))
        message += text.utf8
    }

    /// What is sent first.
    var greeting: [UInt8] {
        authentication == nil
            ? [Self.version, 1, Self.noAuthentication]
            : [Self.version, 2, Self.noAuthentication, Self.userAndPassword]
    }

    /// What is under way, in words.
    var phaseText: String {
        switch phase {
        case .methods: "agreeing on how to authenticate"
        case .authentication: "authenticating"
        case .connecting: "having it connect"
        }
    }

    /// Takes bytes up to the end of the next answer, and not one beyond.
    mutating func receive(
        _ bytes: RawSpan,
        from offset: inout Int
    ) throws(SOCKS5Fault) -> Step {
        while true {
            let missing = try missingCount()
            guard missing > 0 else { return try takeAnswer() }
            let count = min(missing, bytes.byteCount - offset)
            guard count > 0 else { return .wait }
            received += [UInt8](bytes.extracting(offset..<(offset + count)))
            offset += count
        }
    }

    /// How many bytes the current answer has at least, beyond those that are here.
    private func missingCount() throws(SOCKS5Fault) -> Int {
        if let first = received.first {
            let expected: UInt8 = if case .authentication = phase { 1 } else { Self.version }
            guard first == expected else { throw .version(first) }
        }
        guard case .connecting = phase, received.count >= 2 else { return 2 - received.count }
        // A proxy that refuses may say no more than that.
        guard received[1] == 0 else { throw .refused(received[1]) }
        guard received.count >= 4 else { return 4 - received.count }
        switch received[3] {
        case 1: return 10 - received.count
        case 4: return 22 - received.count
        case 3 where received.count == 4: return 1
        case 3: return 7 + Int(received[4]) - received.count
        default: throw .addressType(received[3])
        }
    }

    private mutating func takeAnswer() throws(SOCKS5Fault) -> Step {
        let answer = received[1]
        received = []
        switch phase {
        case .methods:
            switch (answer, authentication) {
            case (Self.noAuthentication, _):
                phase = .connecting
                return .send(request)
            case (Self.userAndPassword, let authentication?):
                phase = .authentication
                return .send(authentication)
            case (0xFF, nil): throw .wantsAuthentication
            case (0xFF, _): throw .noMethod
            default: throw .unknownMethod(answer)
            }
        case .authentication:
            guard answer == 0 else { throw .wrongPassword(answer) }
            phase = .connecting
            return .send(request)
        case .connecting:
            return .established
        }
    }
}

/// Why a proxy of SOCKS made no tunnel.
enum SOCKS5Fault: Error, Hashable, CustomStringConvertible {
    case tooLong(String)
    case version(UInt8)
    case wantsAuthentication
    case noMethod
    case unknownMethod(UInt8)
    case wrongPassword(UInt8)
    case refused(UInt8)
    case addressType(UInt8)

    var description: String {
        switch self {
        case .tooLong(let what): "\(what) is longer than 255 bytes"
        case .version(let version): "it answers in version \(version), as no such proxy does"
        case .wantsAuthentication: "it wants a user and a password, or more, and none is given"
        case .noMethod: "it takes neither nobody nor a user and a password"
        case .unknownMethod(let method): "it chose method \(method), which was not offered"
        case .wrongPassword(let status): "it did not accept user and password (status \(status))"
        case .refused(let reply): "\(Self.words(for: reply)) (reply \(reply))"
        case .addressType(let type): "it answers with an address of type \(type), which is none"
        }
    }

    /// Source: RFC 1928 section 6.
    private static func words(for reply: UInt8) -> String {
        switch reply {
        case 1: "it failed"
        case 2: "its rules do not allow the connection"
        case 3: "the network is unreachable"
        case 4: "the host is unreachable"
        case 5: "the host refused the connection"
        case 6: "the time to live has expired"
        case 7: "it does not know the command"
        case 8: "it does not know the type of the address"
        default: "it refused in a way that nobody knows"
        }
    }
}
