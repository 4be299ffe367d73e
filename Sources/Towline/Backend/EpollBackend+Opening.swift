internal import CLinux
internal import Glibc

extension EpollBackend {
    static let socketFlags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    private static let streamType = CInt(SOCK_STREAM.rawValue)

    func adopt(_ descriptor: CInt, as id: SocketID, kind: SocketKind) throws(SystemCallError) {
        let entry = beginEntry(for: id, kind: kind)
        entry.pointee.descriptor = descriptor
        entry.pointee.flags.insert(.watchesInput)
        if kind == .stream { entry.pointee.flags.insert(.watchesHangUp) }
        do {
            try enterSet(id)
        } catch {
            entry.pointee = EpollEntry()
            throw error
        }
    }

    func discard(_ descriptor: CInt) {
        _ = Glibc.close(descriptor)
    }

    // MARK: Listening

    func listen(
        on address: SocketAddress,
        options: SocketOptions,
        backlog: Int32,
        as id: SocketID
    ) throws(SystemCallError) -> SocketAddress {
        let family = address.family
        let socket = FileDescriptor(
            owning: try checkedSystemCall("socket") {
                Glibc.socket(family, Self.streamType | Self.socketFlags, 0)
            }
        )
        let number = socket.rawValue
        if family != AF_UNIX { try SocketOptions.set(number, SOL_SOCKET, SO_REUSEADDR, 1) }
        if family == AF_INET6 {
            try SocketOptions.set(number, CInt(IPPROTO_IPV6), IPV6_V6ONLY, 1)
        }
        if options.reusePort { try SocketOptions.set(number, SOL_SOCKET, SO_REUSEPORT, 1) }
        // Accepted sockets inherit these, so that none of them costs a call of its own.
        try options.apply(to: number, family: family)
        try checkedSystemCall("bind") {
            address.withSocketAddress { Glibc.bind(number, $0, $1) }
        }
        do throws(SystemCallError) {
            try checkedSystemCall("listen") { Glibc.listen(number, backlog) }
            guard let bound = Self.localAddress(of: number) else {
                throw SystemCallError(call: "getsockname", errno: errno)
            }
            // Only now: in the set before the listen(2), it would report a hang-up.
            try adopt(number, as: id, kind: .listener)
            _ = socket.take()
            return bound
        } catch {
            // The file that the bind has made; closing leaves it behind.
            if case .unix(let path) = address { SocketFile(path)?.remove() }
            throw error
        }
    }

    /// Accepts for as long as connections can be expected and the budget lasts.
    ///
    /// One a readiness, so that a lone client does not cost a call that finds nobody; until there
    /// are no more if the wait before accepted somebody, too.
    func acceptConnections<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let listener = entry(of: id) else { return }
        guard listener.pointee.flags.contains(.wantsInput) else {
            figures.disarmedEvents &+= 1
            watch(id) { $0.remove(.watchesInput) }
            return
        }
        let isBusy = listener.pointee.acceptedInWait == waitNumber &- 1
        let limit = isBusy ? budget.acceptsPerListener : 1
        var acceptedCount = 0
        var failureCount = 0
        while acceptedCount < limit, failureCount < budget.acceptsPerListener {
            // Looked up anew each time: a callback may have stopped it, or made the table grow.
            guard let entry = entry(of: id), entry.pointee.flags.contains(.wantsInput) else {
                return
            }
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let descriptor = entry.pointee.descriptor
            let result = systemCall {
                Int(towline_accept4(descriptor, &address, &length, Self.socketFlags))
            }
            if result.isSuccess {
                entry.pointee.acceptedInWait = waitNumber
                acceptedCount += 1
                let peer = SocketAddress(&address, length: length) ?? .unix(.unnamed)
                sink.handle(.accepted(CInt(result.value), from: peer), of: id, from: self)
                continue
            }
            if result.wouldBlock { return }
            if AcceptFailure(errno: result.errno) == .ofOneConnection {
                // It belongs to one connection that has gone already; the next may be fine.
                failureCount += 1
                continue
            }
            let error = SystemCallError(call: "accept4", errno: result.errno)
            sink.handle(.failed(.accepting, error), of: id, from: self)
            return
        }
    }

    // MARK: Connecting

    func connect(_ id: SocketID, to address: SocketAddress, options: SocketOptions) {
        do {
            try beginConnecting(id, to: address, options: options)
        } catch {
            abandonConnect(id, error)
        }
    }

    private func beginConnecting(
        _ id: SocketID,
        to address: SocketAddress,
        options: SocketOptions
    ) throws(SystemCallError) {
        let entry = entry(of: id) ?? beginEntry(for: id, kind: .stream)
        precondition(entry.pointee.descriptor < 0, "a socket connects on one descriptor at a time")
        let family = address.family
        let number = try checkedSystemCall("socket") {
            Glibc.socket(family, Self.streamType | Self.socketFlags, 0)
        }
        entry.pointee.descriptor = number
        try options.apply(to: number, family: family)
        // Not through `systemCall`: an interrupted connect goes on by itself.
        let result = address.withSocketAddress { Glibc.connect(number, $0, $1) }
        let failure = result == 0 ? 0 : errno
        guard failure == 0 || failure == EINPROGRESS || failure == EINTR else {
            throw SystemCallError(call: "connect", errno: failure)
        }
        entry.pointee.flags.insert(.isConnecting)
        if failure == 0 {
            results.append(.connected(id, local: Self.localAddress(of: number) ?? .unix(.unnamed)))
        } else {
            entry.pointee.flags.insert(.watchesRoom)
            try enterSet(id)
        }
    }

    /// Tells of a connection that was established at once, as in the Unix domain.
    ///
    /// It is watched from here on, and not before, so that nothing that the peer has done meanwhile
    /// is told first.
    func tellConnected<Sink: EventSink>(_ id: SocketID, _ local: SocketAddress, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        entry.pointee.flags.remove(.isConnecting)
        entry.pointee.flags.formUnion([.watchesInput, .watchesHangUp])
        do {
            try enterSet(id)
        } catch {
            abandonConnect(id, error)
            return
        }
        sink.handle(.connected(local: local), of: id, from: self)
    }

    /// The attempt has come to its end; the socket's error says which.
    func finishConnecting<Sink: EventSink>(_ id: SocketID, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        let descriptor = entry.pointee.descriptor
        // Once only: reading clears it.
        let number = Self.takeError(of: descriptor)
        guard number == 0 else {
            abandonConnect(id, SystemCallError(call: "connect", errno: number))
            return
        }
        let local = Self.localAddress(of: descriptor)
        if let local, local == Self.peerAddress(of: descriptor), local.port != nil {
            // A port in the ephemeral range may be one's own: nobody else listens there.
            abandonConnect(id, SystemCallError(call: "connect", errno: ECONNREFUSED))
            return
        }
        watch(id) {
            $0.remove([.isConnecting, .watchesRoom])
            $0.formUnion([.watchesInput, .watchesHangUp])
        }
        sink.handle(.connected(local: local ?? .unix(.unnamed)), of: id, from: self)
    }

    /// Closes an attempt's descriptor and tells why; the ID stays, for another attempt.
    private func abandonConnect(_ id: SocketID, _ error: SystemCallError) {
        guard let entry = entry(of: id) else { return }
        let descriptor = entry.pointee.descriptor
        if descriptor >= 0 {
            if entry.pointee.flags.contains(.isInSet) {
                var event = epoll_event()
                _ = epoll_ctl(set, EPOLL_CTL_DEL, descriptor, &event)
            }
            _ = Glibc.close(descriptor)
        }
        entry.pointee = EpollEntry(generation: id.generation, flags: .isOpen, kind: .stream)
        results.append(.failed(id, .connecting, error))
    }

    // MARK: Facts

    func apply(_ options: SocketOptions, to id: SocketID) throws(SystemCallError) {
        guard let entry = entry(of: id), entry.pointee.descriptor >= 0 else { return }
        let descriptor = entry.pointee.descriptor
        let family = Self.localAddress(of: descriptor)?.family ?? AF_UNIX
        try options.apply(to: descriptor, family: family)
    }

    func localAddress(of id: SocketID) -> SocketAddress? {
        guard let descriptor = descriptor(of: id) else { return nil }
        return Self.localAddress(of: descriptor)
    }

    func descriptor(of id: SocketID) -> CInt? {
        guard let entry = entry(of: id), entry.pointee.descriptor >= 0 else { return nil }
        return entry.pointee.descriptor
    }

    private static func localAddress(of descriptor: CInt) -> SocketAddress? {
        address { getsockname(descriptor, $0, $1) }
    }

    private static func peerAddress(of descriptor: CInt) -> SocketAddress? {
        address { getpeername(descriptor, $0, $1) }
    }

    private static func address(
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            // `sockaddr_storage` begins like `sockaddr` and has room for each kind.
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &length) }
        }
        guard result == 0 else { return nil }
        return SocketAddress(&storage, length: length)
    }
}
