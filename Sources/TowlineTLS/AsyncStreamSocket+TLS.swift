public import Towline

extension AsyncStreamSocket {
    /// Secures the connection behind all reads and writes that were asked for, and returns when it
    /// is; what is asked for from then on is protected.
    ///
    ///     let stream = try await AsyncStreamSocket.connect(toHost: name, port: 993, on: handle)
    ///     try await stream.startTLS()
    ///
    /// A task that is cancelled meanwhile ends the connection. Policies that leave the decision to
    /// a delegate cannot be used here, where there is none.
    ///
    /// - Parameters:
    ///   - configuration: How. One that is not built yet is built on another thread first.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``StreamSocket/startTLS(_:file:line:)``, and ``SocketError/security(_:)`` for
    ///   what becomes of the handshake, the connection then being over; `CancellationError`.
    public nonisolated(nonsending) func startTLS(
        _ configuration: TLSConfiguration = .client,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        try await secure { socket throws(SocketError) in
            try socket.startTLS(configuration, file: file, line: line)
        }
    }

    /// Secures the connection as ``startTLS(_:file:line:)`` does, within a time of the caller's.
    ///
    /// - Parameters:
    ///   - configuration: How.
    ///   - timeout: How long the handshake may take, from when what was asked for before is done;
    ///     `nil` for as long as it likes.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``startTLS(_:file:line:)``; ``SocketError/invalidArgument(_:)`` for a timeout
    ///   below zero.
    public nonisolated(nonsending) func startTLS(
        _ configuration: TLSConfiguration = .client,
        timeout: Duration?,
        file: StaticString = #fileID,
        line: UInt = #line
    ) async throws {
        try await secure { socket throws(SocketError) in
            try socket.startTLS(configuration, timeout: timeout, file: file, line: line)
        }
    }

    /// How the connection is secured; `nil` before it is, and when it has ended.
    ///
    ///     print(await stream.tlsInfo?.version ?? "in clear")
    public nonisolated(nonsending) var tlsInfo: TLSInfo? {
        get async {
            do {
                return try await asking { $0.tlsInfo }
            } catch {
                // There is no connection any more.
                return nil
            }
        }
    }
}
