/// The servers that are compared; the raw value is what `serve` is told.
enum ServerKind: String, CaseIterable {
    /// A level-triggered epoll loop in C with nothing around it: the limit.
    case bare
    /// A delegate on a reactor's epoll backend, through the public API.
    case towline
    /// Dispatch sources, which a delegate socket on Linux would otherwise stand on.
    case dispatch
    /// OpenSSL driven by hand on a bare loop, through memory BIOs: the limit of TLS.
    case tlsMemory = "tls-memory"
    /// The same, with OpenSSL reading from and writing to the socket.
    case tlsSocket = "tls-socket"
    /// The delegate with `startTLS`.
    case tlsTowline = "tls-towline"
    /// A bare loop that answers requests, for clients that are measured.
    case http

    /// The name in a table.
    var title: String {
        switch self {
        case .bare: "bare C epoll"
        case .towline, .tlsTowline: "Towline"
        case .dispatch: "Dispatch"
        case .tlsMemory: "by hand, memory BIOs"
        case .tlsSocket: "by hand, socket BIO"
        case .http: "bare HTTP"
        }
    }
}

/// What one command compares.
enum Suite: String {
    case echo
    case tls

    /// The servers, the first of which is what the others are held against.
    var servers: [ServerKind] {
        switch self {
        case .echo: [.bare, .towline, .dispatch]
        case .tls: [.tlsMemory, .tlsTowline, .tlsSocket]
        }
    }

    /// The families of workloads.
    var kinds: [Workload.Kind] {
        switch self {
        case .echo: [.pingPong, .pipelined, .bulk, .connect]
        case .tls: [.pingPong, .record, .bulk, .handshake, .resumption]
        }
    }

    /// Those of a quick look.
    var quickKinds: [Workload.Kind] {
        switch self {
        case .echo: [.pingPong, .pipelined, .bulk]
        case .tls: [.pingPong, .record, .handshake]
        }
    }

    /// Connections of the ping-pong.
    var pingPongConnections: [Int] {
        switch self {
        case .echo: [64, 1_000, 1]
        case .tls: [64]
        }
    }

    /// What stands above the tables.
    var heading: String {
        switch self {
        case .echo: "Echo"
        case .tls: "TLS 1.3"
        }
    }

    /// The reference in the head of a table.
    var reference: String {
        switch self {
        case .echo: "bare C"
        case .tls: "memory BIOs"
        }
    }
}
