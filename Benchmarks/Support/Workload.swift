/// What a load does: how many connections, how much on the way, how it ends.
struct Workload {
    /// The families of workloads, as `--workloads` names them.
    enum Kind: String, CaseIterable {
        /// One message on the way on each connection.
        case pingPong = "ping-pong"
        /// Several small messages on the way on each connection.
        case pipelined
        /// Large messages, as many bytes as go through.
        case bulk
        /// A connection for each message: connect, echo, close.
        case connect
        /// Messages that fill a record each, one on the way on each connection.
        case record = "records"
        /// A full handshake for each message.
        case handshake = "handshakes"
        /// A resumed handshake for each message.
        case resumption = "resumed"
    }

    let kind: Kind
    let connectionCount: Int
    /// Messages on the way on each connection, 1 or more.
    let depth: Int
    let messageByteCount: Int

    static func pingPong(connectionCount: Int) -> Workload {
        Workload(
            kind: .pingPong,
            connectionCount: connectionCount,
            depth: 1,
            messageByteCount: 64
        )
    }

    static let pipelined = Workload(
        kind: .pipelined,
        connectionCount: 64,
        depth: 16,
        messageByteCount: 64
    )

    static let bulk = Workload(
        kind: .bulk,
        connectionCount: 8,
        depth: 4,
        messageByteCount: 64 * 1024
    )

    static let connect = Workload(
        kind: .connect,
        connectionCount: 16,
        depth: 1,
        messageByteCount: 64
    )

    static let record = Workload(
        kind: .record,
        connectionCount: 8,
        depth: 1,
        messageByteCount: 16 * 1024
    )

    /// Handshakes, full or resumed.
    static func handshake(_ kind: Kind) -> Workload {
        Workload(kind: kind, connectionCount: 8, depth: 1, messageByteCount: 64)
    }

    /// Whether each message has a connection of its own.
    var reconnects: Bool { [.connect, .handshake, .resumption].contains(kind) }

    var title: String {
        switch kind {
        case .pingPong: "64 B ping-pong, \(connectionText)"
        case .pipelined: "64 B pipelined \(depth) deep, \(connectionText)"
        case .bulk: "64 KiB bulk \(depth) deep, \(connectionText)"
        case .connect: "connect, 64 B echo and close, \(connectionCount) at a time"
        case .record: "16 KiB ping-pong, \(connectionText)"
        case .handshake: "full handshake, 64 B echo and close, \(connectionCount) at a time"
        case .resumption: "resumed handshake, 64 B echo and close, \(connectionCount) at a time"
        }
    }

    private var connectionText: String {
        connectionCount == 1 ? "1 connection" : "\(connectionCount.grouped) connections"
    }
}
