extension StreamSocket {
    /// What the kernel is asked for; takes effect with the next start.
    ///
    /// An accepted socket begins with its listener's.
    public var options: SocketOptions {
        get { isOnThread("options") ? extras?.options ?? SocketOptions() : SocketOptions() }
        set {
            guard isOnThread("options") else { return }
            makeExtras().options = newValue
        }
    }

    /// Changes the options of a live socket, and those of the next start.
    ///
    /// Those that are `nil` stay what they are; ``SocketOptions/noDelay`` is switched on or off.
    /// What takes effect only when a socket starts is kept for the next start.
    ///
    /// - Parameters:
    ///   - options: The options.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/invalidArgument(_:)`` for a value out of its range;
    ///   ``SocketError/system(_:)`` for an option that the kernel refused; those before it stay
    ///   set. ``SocketError/notConnected``, ``SocketError/wrongThread``.
    public func apply(
        _ options: SocketOptions,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForCall("apply(_:)")
        guard lifecycle.phase == .connected else { throw .notConnected }
        try options.check("apply", file, line)
        do {
            try reactor.backend.apply(options, to: socketID)
        } catch {
            throw .system(error)
        }
        makeExtras().options = options
    }
}

extension SocketOptions {
    /// Looks at every value before anything is done with one.
    ///
    /// - Throws: ``SocketError/invalidArgument(_:)`` with the first that is out of its range.
    func check(
        _ call: String,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) {
        guard let problem else { return }
        throw .invalidArgument(
            InvalidArgument(
                "\(call) with options.\(problem.option) \(problem.value)",
                "\(problem.option) \(problem.reason)",
                file,
                line
            )
        )
    }
}
