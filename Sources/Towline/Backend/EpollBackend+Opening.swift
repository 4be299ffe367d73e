internal import CLinux
internal import Glibc

extension EpollBackend {
    static let socketFlags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    static let streamType = CInt(SOCK_STREAM.rawValue)

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

    func release(_ id: SocketID) -> CInt? {
        guard let entry = entry(of: id), entry.pointee.output == nil,
            entry.pointee.flags.isDisjoint(with: [.isConnecting, .cannotSend])
        else { return nil }
        watch(id) { $0.remove(.isInSet) }
        let descriptor = entry.pointee.descriptor
        entry.pointee = EpollEntry(generation: id.generation)
        return descriptor
    }

    func discard(_ descriptor: CInt) {
        _ = Glibc.close(descriptor)
    }

    // MARK: Connecting

    func open(
        _ id: SocketID,
        for address: SocketAddress,
        from local: SocketAddress?,
        options: SocketOptions
    ) throws(SystemCallError) {
        let family = address.family
        let socket = FileDescriptor(
            owning: try checkedSystemCall("socket") {
                Glibc.socket(family, Self.streamType | Self.socketFlags, 0)
            }
        )
        try options.apply(to: socket.rawValue, family: family, for: .connecting)
        if let local { try Self.bind(socket.rawValue, to: local) }
        let entry = entry(of: id) ?? beginEntry(for: id, kind: .stream)
        precondition(entry.pointee.descriptor < 0, "a socket connects on one descriptor at a time")
        entry.pointee.descriptor = socket.take()
    }

    /// Chooses the source of a connection.
    ///
    /// A port that is asked for may have been used a moment ago. One that is not is chosen when the
    /// peer is known: then it only has to differ from those of other connections to that peer.
    private static func bind(_ descriptor: CInt, to local: SocketAddress) throws(SystemCallError) {
        if local.port == 0 {
            // Where the kernel does not know it, a port is chosen now.
            var isOn: CInt = 1
            let size = socklen_t(MemoryLayout<CInt>.size)
            _ = setsockopt(descriptor, CInt(IPPROTO_IP), bindAddressNoPort, &isOn, size)
        } else {
            try SocketOptions.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        }
        do {
            try checkedSystemCall("bind") {
                local.withSocketAddress { Glibc.bind(descriptor, $0, $1) }
            }
        } catch {
            throw error.during("bind to \(local)")
        }
    }

    /// `IP_BIND_ADDRESS_NO_PORT` of ip(7), which glibc's header leaves out of Swift's sight.
    private static let bindAddressNoPort: CInt = 24

    func connect(_ id: SocketID, to address: SocketAddress) {
        guard let entry = entry(of: id), entry.pointee.descriptor >= 0 else { return }
        let number = entry.pointee.descriptor
        // Not through `systemCall`: an interrupted connect goes on by itself.
        let result = address.withSocketAddress { Glibc.connect(number, $0, $1) }
        let failure = result == 0 ? 0 : errno
        guard failure == 0 || failure == EINPROGRESS || failure == EINTR else {
            abandonConnect(id, SystemCallError(call: "connect", errno: failure))
            return
        }
        entry.pointee.flags.insert(.isConnecting)
        guard failure != 0 else {
            results.append(.connected(id, local: Self.localAddress(of: number) ?? .unix(.unnamed)))
            return
        }
        entry.pointee.flags.insert(.watchesRoom)
        do {
            try enterSet(id)
        } catch {
            abandonConnect(id, error)
        }
    }

    func handOver(_ attempt: SocketID, to id: SocketID) {
        guard let old = entry(of: attempt)?.pointee else { return }
        precondition(entry(of: id)?.pointee.descriptor ?? -1 < 0, "a socket has one descriptor")
        let entry = entry(of: id) ?? beginEntry(for: id, kind: .stream)
        entry.pointee = old
        entry.pointee.generation = id.generation
        // What the set has reported of the old ID finds nobody, and is reported again of this one.
        control(EPOLL_CTL_MOD, id, entry)
        self.entry(of: attempt)?.pointee = EpollEntry(generation: attempt.generation)
        results.append(.closed(attempt))
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
        try options.apply(to: descriptor, family: family, for: .connected)
    }

    func unacknowledgedByteCount(of id: SocketID) -> Int? {
        guard let entry = entry(of: id), entry.pointee.descriptor >= 0 else { return nil }
        let count = Int(towline_unacknowledged(entry.pointee.descriptor))
        // Our end counts as one until it is acknowledged.
        let hasSentEnd = entry.pointee.flags.contains(.hasFinished) && entry.pointee.output == nil
        return count < 0 ? nil : max(0, count - (hasSentEnd ? 1 : 0))
    }

    func localAddress(of id: SocketID) -> SocketAddress? {
        guard let descriptor = descriptor(of: id) else { return nil }
        return Self.localAddress(of: descriptor)
    }

    func peerCredentials(of id: SocketID) -> PeerCredentials? {
        guard let descriptor = descriptor(of: id) else { return nil }
        return PeerCredentials(of: descriptor)
    }

    func descriptor(of id: SocketID) -> CInt? {
        guard let entry = entry(of: id), entry.pointee.descriptor >= 0 else { return nil }
        return entry.pointee.descriptor
    }

    static func localAddress(of descriptor: CInt) -> SocketAddress? {
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
