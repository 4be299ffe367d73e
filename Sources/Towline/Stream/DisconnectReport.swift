/// How a connection ended, or why it was never made; the terminal callback carries it.
///
/// Prints as one line: what, with whom, in which phase, after how long, why.
public struct DisconnectReport: Sendable, CustomStringConvertible {
    /// How far a socket had come.
    public enum Phase: String, Sendable, Hashable {
        /// The host's addresses were being looked up.
        case resolving
        /// The address was known, the connection not established.
        case connecting
        /// The connection was established, its handshake not over.
        case securing
        /// The connection was established, and secured if that was asked for.
        case connected
    }

    /// Why; `nil` only for a deliberate end of ours.
    public let error: SocketError?

    /// How far the connection had come.
    public let phase: Phase

    /// The peer, or the address that was tried last; `nil` if none was.
    public let remoteAddress: SocketAddress?

    /// The time from the connect or accept until here, as exact as the turns are short.
    public let elapsed: Duration

    /// Bytes received on this connection.
    public let receivedByteCount: Int

    /// Bytes of it that the kernel took from us.
    public let sentByteCount: Int

    /// What a report of a plain end does not have; kept apart, since thousands may end in one turn.
    enum Details {
        case none
        case oneRead(tag: Int)
        case several(Lists)
    }

    final class Lists: Sendable {
        let unreadBytes: [UInt8]
        let incompleteReads: [Int]
        let incompleteWrites: [IncompleteWrite]
        let attempts: [ConnectAttempt]
        let buffers: ReturnedReadBuffers?
        let requestedHost: String?
        /// The name and port, or the number of addresses; `nil` where one address says it all.
        let requestedPlace: String?

        init(
            unreadBytes: [UInt8],
            incompleteReads: [Int],
            incompleteWrites: [IncompleteWrite],
            attempts: [ConnectAttempt],
            buffers: ReturnedReadBuffers? = nil,
            requestedHost: String? = nil,
            requestedPlace: String? = nil
        ) {
            self.unreadBytes = unreadBytes
            self.incompleteReads = incompleteReads
            self.incompleteWrites = incompleteWrites
            self.attempts = attempts
            self.buffers = buffers
            self.requestedHost = requestedHost
            self.requestedPlace = requestedPlace
        }
    }

    let details: Details

    private var lists: Lists? {
        if case .several(let lists) = details { return lists }
        return nil
    }

    /// Bytes that came and that no read has delivered, those of an interrupted read included.
    public var unreadBytes: [UInt8] { lists?.unreadBytes ?? [] }

    /// The tags of reads that were not complete, in their order.
    public var incompleteReads: [Int] {
        if case .oneRead(let tag) = details { return [tag] }
        return lists?.incompleteReads ?? []
    }

    /// Gives back the buffer of the first incomplete read that had one; then that of the next.
    ///
    /// All copies of the report share them: each buffer is given once.
    ///
    /// - Returns: The buffer, whose length is as the read has left it; `nil` when there is none any
    ///   more.
    public func takeReadBuffer() -> ReadBuffer? { lists?.buffers?.take() }

    /// The writes that were not complete, in their order.
    public var incompleteWrites: [IncompleteWrite] { lists?.incompleteWrites ?? [] }

    /// Each address that was tried and failed, in the order of the failures.
    public var attempts: [ConnectAttempt] { lists?.attempts ?? [] }

    /// The host that the connect was asked for; `nil` where it was asked for an address.
    public var host: String? { lists?.requestedHost }

    /// So many failed attempts are named in the text.
    private static let namedAttempts = 8

    /// The report as one line.
    public var description: String {
        if phase == .securing, let error {
            return "TLS with \(peer) failed while securing: \(reason(error))"
        }
        guard phase == .connected || phase == .securing else {
            guard let error else { return "connect to \(place) was given up while \(phase)" }
            return "connect to \(place) failed while \(phase)\(after): \(connectReason(error))"
        }
        guard let error else { return "connection with \(peer) closed\(after)" }
        if case .closedByPeer = error {
            let count = incompleteWrites.count
            let loss = count == 0 ? "" : ", with \(count) \(count == 1 ? "write" : "writes") unsent"
            return "connection with \(peer) closed by the peer\(after)\(loss)"
        }
        return "connection with \(peer) ended while connected\(after): \(reason(error))"
    }

    /// Whom the connect was asked for: name and port, an address, or how many of them.
    var place: String { lists?.requestedPlace ?? address }

    private var address: String { remoteAddress.map { "\($0)" } ?? "nobody" }

    /// The name that was asked for, if any, and the address that it led to.
    private var peer: String {
        guard host != nil, let place = lists?.requestedPlace else { return address }
        return "\(place) (\(address))"
    }

    /// Why no connection came about: where the place is a name, with each address that was tried.
    private func connectReason(_ error: SocketError) -> String {
        if case .resolutionFailed(_, let cause) = error {
            return cause.description + (cause == .noSuchHost ? Self.nameHint : "")
        }
        guard lists?.requestedPlace != nil, !attempts.isEmpty else { return reason(error) }
        var named = attempts.prefix(Self.namedAttempts).map { attempt in
            let cause = attempt.error
            return "\(attempt.address) \(cause.purpose == nil ? cause.reason : "\(cause)")"
        }
        if attempts.count > named.count { named.append("\(attempts.count - named.count) more") }
        let list = named.joined(separator: "; ")
        switch error {
        case .system:
            let hints = attempts.map { hint(for: $0.error) }
            return list + (hints.first { !$0.isEmpty } ?? "")
        default:
            return "\(error): \(list)"
        }
    }

    /// A refusal comes from a host that is there.
    private static let refusalHint = ". Is the server running?"

    /// Of a Unix socket's path.
    private static let pathHint =
        ". No server listens at this path: is it right, and the server running?"

    /// The name servers answer, and do not know the name.
    private static let nameHint =
        ". Is the name spelled right, and known to the name servers in use?"

    /// What a person may look at.
    private func hint(for error: SystemCallError) -> String {
        switch error.name {
        case "ECONNREFUSED": Self.refusalHint
        case "ENOENT" where phase == .connecting: Self.pathHint
        default: ""
        }
    }

    private var after: String {
        let milliseconds = elapsed / .milliseconds(1)
        return milliseconds < 1 ? " after less than 1 ms" : " after \(Int(milliseconds)) ms"
    }

    private func reason(_ error: SocketError) -> String {
        guard case .system(let cause) = error else { return error.description }
        let hint = hint(for: cause)
        guard cause.purpose == nil else { return cause.description + hint }
        return cause.reason + hint
    }
}

/// A write whose bytes the kernel did not take in full.
public struct IncompleteWrite: Sendable, Hashable {
    /// The write's tag.
    public let tag: Int

    /// Its bytes that the kernel took.
    public let bytesWritten: Int

    /// Its bytes in all.
    public let total: Int
}

/// An address that was tried, and why it did not do.
public struct ConnectAttempt: Sendable, Hashable {
    /// The address.
    public let address: SocketAddress

    /// The refused call.
    public let error: SystemCallError

    /// An attempt, as a program's own tests may need one.
    public init(address: SocketAddress, error: SystemCallError) {
        self.address = address
        self.error = error
    }
}
