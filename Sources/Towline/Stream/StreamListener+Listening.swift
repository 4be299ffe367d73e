internal import Glibc

extension StreamListener {
    /// How often another port is tried where the kernel's choice for one family is taken in the
    /// other.
    private static let portAttempts = 16

    /// Listens on a TCP port of every interface, or of one, with both families on the same port.
    ///
    /// Where the host, or the interface, has only one of the families, it is listened on with that
    /// one.
    ///
    /// - Parameters:
    ///   - port: The port; 0 has the kernel choose one, which ``localAddress`` tells at once.
    ///   - interface: At which interface the port can be reached; `nil`, at every one.
    ///   - backlog: How many connections may wait to be accepted, 1 or more; the kernel has a limit
    ///     of its own.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``listen(on:backlog:file:line:)``, and
    ///   ``SocketError/noAddressFamilyEnabled``.
    public func listen(
        onPort port: UInt16,
        interface: InterfaceSpecifier? = nil,
        backlog: Int = 1024,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForListen(backlog, file, line)
        let families = addressFamilies
        guard !families.isEmpty else { throw .noAddressFamilyEnabled }
        let interface = interface ?? .any
        let found: InterfaceSpecifier.SourceAddresses
        do {
            found = try interface.sourceAddresses()
        } catch {
            throw .system(error.during("listen on port \(port) of \(interface)"))
        }
        func invalid(_ reason: String) -> SocketError {
            let call = "listen(onPort: \(port), interface: \(interface))"
            return .invalidArgument(InvalidArgument(call, reason, file, line))
        }
        guard !found.isEmpty else { throw invalid("the host has no such interface") }
        var addresses: [SocketAddress] = []
        if families.contains(.ipv4), let address = found.ipv4 { addresses.append(address) }
        if families.contains(.ipv6), let address = found.ipv6 { addresses.append(address) }
        guard !addresses.isEmpty else {
            let names = families.map(\.rawValue).joined(separator: ", ")
            throw invalid("the interface has no address of the enabled family (\(names))")
        }
        try listen(
            onEachOf: addresses.map { $0.withPort(port) },
            permissions: nil,
            backlog: backlog,
            reactor
        )
    }

    /// Listens on a path of the Unix domain.
    ///
    /// The file of a listener that has died is replaced; any other file, and the socket of a living
    /// one, are left alone. When the listener ends, it removes its own file.
    ///
    /// - Parameters:
    ///   - path: 1 through 107 bytes; with a leading `@` an abstract name, which has no file.
    ///   - permissions: The mode of the file, 0 through 0o777, in force before anybody can connect;
    ///     `nil`, what the process's mask leaves.
    ///   - backlog: As for ``listen(onPort:interface:backlog:file:line:)``.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: As ``listen(on:backlog:file:line:)``.
    public func listen(
        onUnixPath path: String,
        permissions: UInt16? = nil,
        backlog: Int = 1024,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForListen(backlog, file, line)
        func invalid(_ reason: String) -> SocketError {
            .invalidArgument(InvalidArgument("listen(onUnixPath: \(path))", reason, file, line))
        }
        guard let unixPath = UnixPath(path) else {
            let limit = UnixPath.pathByteLimit
            throw invalid("path must have 1 through \(limit) bytes, none of them zero")
        }
        if let permissions {
            guard permissions <= 0o777 else { throw invalid("permissions must be 0 to 0o777") }
            guard !unixPath.isAbstract else {
                throw invalid("an abstract name has no file, and so no permissions")
            }
        }
        try listen(
            onEachOf: [.unix(unixPath)],
            permissions: permissions,
            backlog: backlog,
            reactor
        )
    }

    /// Listens on an address.
    ///
    /// - Parameters:
    ///   - address: The address; a port of 0 has the kernel choose one.
    ///   - backlog: As for ``listen(onPort:interface:backlog:file:line:)``.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/system(_:)`` with the address and the reason, such as `EADDRINUSE`;
    ///   ``SocketError/invalidState(_:)`` if it listens already; ``SocketError/noDelegate``;
    ///   ``SocketError/invalidArgument(_:)``; ``SocketError/wrongThread``;
    ///   ``SocketError/reactorStopped``. Nothing stays open then, and nothing is called back.
    public func listen(
        on address: SocketAddress,
        backlog: Int = 1024,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForListen(backlog, file, line)
        try listen(onEachOf: [address], permissions: nil, backlog: backlog, reactor)
    }

    /// Takes over a descriptor that listens already, as a service manager passes it on.
    ///
    /// It is a stream of the IPv4, IPv6 or Unix family, and is made non-blocking and close-on-exec.
    /// The file of a Unix listener stays when this one ends: it belongs to whoever made it.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor; it is the listener's only if nothing is thrown.
    ///   - file: The file of the call, for the error.
    ///   - line: The line of the call, for the error.
    /// - Throws: ``SocketError/invalidArgument(_:)`` for a descriptor that does not listen; else as
    ///   ``listen(on:backlog:file:line:)``.
    public func listen(
        adopting descriptor: CInt,
        file: StaticString = #fileID,
        line: UInt = #line
    ) throws(SocketError) {
        let reactor = try reactorForListen(1, file, line)
        let call = "listen(adopting: \(descriptor))"
        let adopted = try AdoptedDescriptor(descriptor, call, file, line)
        guard adopted.isListening else { throw adopted.invalid("must be a listening socket") }
        let address = try adopted.localAddress()
        let saved = try adopted.prepare()
        do throws(SystemCallError) {
            try options.apply(to: descriptor, family: address.family, for: .listening)
            let id = try takeSlot(reactor)
            places.append(Place(id: id, address: address))
            try reactor.backend.adopt(descriptor, as: id, kind: .listener)
        } catch {
            if let place = places.popLast() { _ = reactor.table.remove(place.id) }
            adopted.restore(saved)
            throw .system(error.during("listen on \(address)"))
        }
        begin(reactor)
    }

    // MARK: Opening

    /// The reactor, if a listen may begin.
    private func reactorForListen(
        _ backlog: Int,
        _ file: StaticString,
        _ line: UInt
    ) throws(SocketError) -> Reactor {
        let reactor = try reference.forCall("listen")
        switch phase {
        case .idle: break
        case .listening: throw .invalidState(.listening)
        case .leaving, .closing: throw .invalidState(.disconnecting)
        }
        guard delegateReference != nil else { throw .noDelegate }
        guard backlog >= 1 else {
            let call = "listen(backlog: \(backlog))"
            throw .invalidArgument(InvalidArgument(call, "backlog must be 1 or more", file, line))
        }
        try options.check("listen", file, line)
        return reactor
    }

    /// Listens on all of the addresses, those behind the first on its port, or on none.
    private func listen(
        onEachOf addresses: [SocketAddress],
        permissions: UInt16?,
        backlog: Int,
        _ reactor: Reactor
    ) throws(SocketError) {
        var attemptsLeft = addresses[0].port == 0 ? Self.portAttempts : 1
        while true {
            do {
                try open(addresses, permissions, Int32(clamping: backlog), reactor)
                break
            } catch {
                // With a port that the kernel chose, it was the other family's that was taken.
                let isTaken = error.errno == EADDRINUSE && !places.isEmpty
                giveUp(reactor)
                attemptsLeft -= 1
                guard isTaken, attemptsLeft > 0 else { throw .system(error) }
            }
        }
        begin(reactor)
    }

    private func open(
        _ addresses: [SocketAddress],
        _ permissions: UInt16?,
        _ backlog: Int32,
        _ reactor: Reactor
    ) throws(SystemCallError) {
        if exhaustion.policy == .shed { try reactor.backend.takeReserve() }
        var absence: SystemCallError?
        for address in addresses {
            let target = places.first?.address.port.map(address.withPort) ?? address
            let id = try takeSlot(reactor)
            do {
                if case .unix(let path) = target { try SocketFile.removeStale(path) }
                let bound = try reactor.backend.listen(
                    on: target,
                    options: options,
                    backlog: backlog,
                    permissions: permissions,
                    as: id
                )
                places.append(Place(id: id, address: bound))
            } catch {
                _ = reactor.table.remove(id)
                let place = error.purpose.map { "\(target), \($0)," } ?? "\(target)"
                let failure = error.during("listen on \(place)")
                guard addresses.count > 1, Self.isAbsent(target, error) else { throw failure }
                absence = failure
            }
        }
        if places.isEmpty, let absence { throw absence }
        if case .unix(let path)? = places.first?.address { socketFile = SocketFile(path) }
    }

    /// Whether the error says that the host has no address of this family.
    private static func isAbsent(_ address: SocketAddress, _ error: SystemCallError) -> Bool {
        switch error.errno {
        case EAFNOSUPPORT: true
        case EADDRNOTAVAIL: address.family == AF_INET6
        default: false
        }
    }

    private func takeSlot(_ reactor: Reactor) throws(SystemCallError) -> SocketID {
        guard let id = reactor.table.insert(self, kind: .listener) else {
            throw SystemCallError(call: "socket", errno: SystemCallError.tableIsFull)
        }
        return id
    }

    /// Closes what a listen that has failed has opened: at once, and nothing is called back.
    private func giveUp(_ reactor: Reactor) {
        for place in places {
            reactor.table.replaceOwner(of: place.id, with: Remnant(), kind: .remnant)
            reactor.backend.close(place.id, .end)
        }
        places = []
    }

    private func begin(_ reactor: Reactor) {
        phase = .listening
        inheritedOptions = options == SocketOptions() ? nil : InheritedOptions(options)
        // From here on the reactor holds the listener.
        reference.letGo()
        updateAccepting()
    }
}
