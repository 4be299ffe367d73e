public import Towline

/// How a connection that begins in clear is asked for TLS, as clients of three protocols do.
///
/// Source: RFC 3207; RFC 9051, section 6.2.1; PostgreSQL, "Message Flow", SSL session encryption.
public enum Upgrade: String {
    /// Mail is submitted: `STARTTLS` behind `EHLO`.
    case smtp
    /// Mail is read: `STARTTLS` behind the greeting.
    case imap
    /// A database: one request, one letter.
    case postgres

    private static let lineLimit = 4_096

    /// Asks, or first reads what the peer has to say.
    public func begin(_ socket: StreamSocket) throws {
        guard self == .postgres else { return try readLine(socket, tag: 0) }
        // Its length, and the number of the request.
        try socket.write([0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F])
        try socket.read(toLength: 1)
    }

    /// Goes on by what was read.
    ///
    /// - Parameters:
    ///   - bytes: A line, or the one letter.
    ///   - tag: The read's, which counts the replies.
    ///   - socket: The connection.
    /// - Returns: Whether the peer has agreed, so that the handshake comes next.
    /// - Throws: ``Failure`` with the peer's words if it has not.
    public func isAgreed(_ bytes: RawSpan, _ tag: Int, _ socket: StreamSocket) throws -> Bool {
        let line = String(decoding: bytes).split(whereSeparator: \.isNewline).first ?? ""
        switch self {
        case .postgres where line == "S": return true
        case .smtp where line.hasPrefix("2"):
            guard line.dropFirst(3).first != "-" else { try readLine(socket, tag: tag); break }
            if tag == 2 { return true }
            try socket.write(tag == 0 ? "EHLO localhost\r\n" : "STARTTLS\r\n")
            try readLine(socket, tag: tag + 1)
        case .imap where tag == 0 && line.hasPrefix("* OK"):
            try socket.write("a STARTTLS\r\n")
            try readLine(socket, tag: 1)
        case .imap where tag == 1 && line.hasPrefix("a OK"): return true
        case .imap where tag == 1 && line.hasPrefix("* "): try readLine(socket, tag: 1)
        case .smtp, .imap, .postgres:
            throw Failure("no TLS by \(rawValue): the peer says \(String(line).debugDescription)")
        }
        return false
    }

    private func readLine(_ socket: StreamSocket, tag: Int) throws {
        try socket.read(to: .lf, maxLength: Self.lineLimit, timeout: .seconds(30), tag: tag)
    }
}
