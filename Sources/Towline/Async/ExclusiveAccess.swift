extension AsyncStreamSocket {
    /// Exclusive use of a connection, for as long as a closure runs: see
    /// ``AsyncStreamSocket/use(isolation:_:)``.
    ///
    ///     func answer(_ connection: borrowing AsyncStreamSocket.ExclusiveAccess) async throws {
    ///         let line = try await connection.read(to: .crlf, maxLength: 512)
    ///         try await connection.write(line)
    ///     }
    ///
    /// It can be neither copied nor kept nor given to another task, so that only one task uses the
    /// connection, one call after the other.
    public struct ExclusiveAccess: ~Copyable {
        @usableFromInline let gate: ExclusiveGate

        init(_ gate: ExclusiveGate) {
            self.gate = gate
        }

        /// Reads whatever comes next, at least one byte.
        ///
        /// - Parameter maxLength: The most bytes, 1 or more; `nil`, all that is there.
        /// - Returns: The bytes.
        /// - Throws: ``SocketError``, with ``SocketError/closedByPeer`` at the peer's end;
        ///   `CancellationError`.
        @inlinable
        public nonisolated(nonsending) func read(maxLength: Int? = nil) async throws -> [UInt8] {
            if maxLength == nil, gate.beginRead() { return try await gate.pass() }
            return try await read(.some(maxLength))
        }

        /// Reads exactly so many bytes.
        ///
        /// - Parameter length: 1 or more.
        /// - Returns: The bytes.
        /// - Throws: As ``read(maxLength:)``.
        public nonisolated(nonsending) func read(toLength length: Int) async throws -> [UInt8] {
            try await read(.length(length))
        }

        /// Reads up to and with the first occurrence of a delimiter.
        ///
        /// - Parameters:
        ///   - delimiter: At least one byte.
        ///   - maxLength: The most bytes of the result; without a delimiter within them the
        ///     connection ends. `nil`, ``StreamSocket/defaultDelimiterLimit``.
        /// - Returns: The bytes, the delimiter included.
        /// - Throws: As ``read(maxLength:)``.
        public nonisolated(nonsending) func read(
            to delimiter: Delimiter,
            maxLength: Int? = nil
        ) async throws -> [UInt8] {
            try await read(.delimiter(delimiter, maxLength))
        }

        /// Reads everything up to the peer's end.
        ///
        /// - Parameter maxLength: The most bytes, 1 or more; where more come, the connection ends.
        /// - Returns: The bytes.
        /// - Throws: As ``read(maxLength:)``.
        public nonisolated(nonsending) func readToEnd(maxLength: Int) async throws -> [UInt8] {
            try await read(.end(maxLength))
        }

        @usableFromInline
        nonisolated(nonsending) func read(_ kind: AsyncReadKind) async throws -> [UInt8] {
            if gate.beginRead(kind) { return try await gate.pass() }
            return try await gate.readInGeneral(kind)
        }

        /// Writes bytes behind all earlier ones; returns when the kernel has taken the last.
        ///
        /// - Parameter bytes: The bytes.
        /// - Throws: ``SocketError``; `CancellationError`.
        @inlinable
        public nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws {
            switch gate.send(bytes) {
            case .done: return
            case .begun: try await gate.passEmpty()
            case .refused: try await writeInGeneral(bytes)
            }
        }

        /// Writes the UTF-8 of a text behind all earlier bytes.
        ///
        /// - Parameter text: The text.
        /// - Throws: As for bytes.
        public nonisolated(nonsending) func write(_ text: String) async throws {
            try await write(Array(text.utf8))
        }

        @usableFromInline
        nonisolated(nonsending) func writeInGeneral(_ bytes: [UInt8]) async throws {
            if gate.beginWrite(bytes) {
                try await gate.passEmpty()
            } else {
                try await gate.writeInGeneral(bytes)
            }
        }

        /// Ends the writing side behind what is written; reading goes on.
        ///
        /// - Throws: ``SocketError``.
        public nonisolated(nonsending) func shutdownWrite() async throws {
            try await gate.shutdownWrite()
        }
    }
}

@available(*, unavailable)
extension AsyncStreamSocket.ExclusiveAccess: Sendable {}

extension AsyncStreamSocket {
    /// Runs a closure that has the connection to itself, then ends the connection behind its
    /// writes, also if the closure throws.
    ///
    ///     try await stream.use { connection in
    ///         while true { try await connection.write(connection.read()) }
    ///     }
    ///
    /// What the closure awaits costs a fraction of what the same calls of the socket do, the least
    /// in an actor on the reactor's executor, whose tasks prefer none: a task that waits is let on
    /// where its bytes arrive, as a delegate would be called.
    ///
    /// Meanwhile reads and writes of the socket itself, and a second `use`, throw
    /// ``SocketError/inUse``; what was asked for before comes first. ``close()`` and ``abort()``
    /// may be called all the same, and end what the closure awaits.
    ///
    /// Cancelling the task ends what the closure awaits with `CancellationError`, and each further
    /// call; a write that has begun is sent to its end.
    ///
    /// - Parameters:
    ///   - isolation: Where the closure runs: where the caller does.
    ///   - body: Called once, with the connection.
    /// - Returns: What the closure returns, when the connection has ended.
    /// - Throws: What the closure throws; before it runs, ``SocketError/inUse``, or what ended the
    ///   connection; the connection stays as it is then.
    public func use<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: nonisolated(nonsending) (borrowing ExclusiveAccess) async throws -> Value
    ) async throws -> Value {
        let gate = ExclusiveGate(core, isolation)
        if core.isHere {
            try core.beginUse(gate)
        } else {
            try await core.onReactor { try $0.beginUse(gate) }
        }
        do {
            let value = try await withTaskCancellationHandler {
                _ = isolation
                return try await body(ExclusiveAccess(gate))
            } onCancel: {
                gate.cancel()
            }
            await endUse(gate)
            return value
        } catch {
            await endUse(gate)
            throw error
        }
    }

    private nonisolated(nonsending) func endUse(_ gate: ExclusiveGate) async {
        do {
            try await core.onReactor {
                $0.endUse(gate)
                await $0.close()
            }
        } catch {
            // Nothing is thrown; the reactor's end has ended the connection.
        }
    }
}
