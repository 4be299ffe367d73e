internal import CLinux
internal import Glibc

extension EpollBackend {
    func listen(
        on address: SocketAddress,
        options: SocketOptions,
        backlog: Int32,
        permissions: UInt16?,
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
        try options.apply(to: number, family: family, for: .listening)
        // The file that the bind makes has the mode of the socket, without what the mask takes.
        if let permissions {
            try checkedSystemCall("fchmod") { fchmod(number, mode_t(permissions)) }
        }
        try checkedSystemCall("bind") {
            address.withSocketAddress { Glibc.bind(number, $0, $1) }
        }
        do throws(SystemCallError) {
            // What the mask has taken; nobody can connect before the listen(2).
            if let permissions, case .unix(let path) = address, let path = path.path {
                try checkedSystemCall("chmod") { chmod(path, mode_t(permissions)) }
            }
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

    func hasWaitingConnections(_ id: SocketID) -> Bool {
        guard let entry = entry(of: id) else { return false }
        var look = pollfd(fd: entry.pointee.descriptor, events: Int16(POLLIN), revents: 0)
        return systemCall { Int(poll(&look, 1, 0)) }.value > 0
    }

    // MARK: Out of descriptors

    func takeReserve() throws(SystemCallError) {
        guard reserve < 0 else { return }
        reserve = try checkedSystemCall("open") { Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC) }
    }

    func releaseReserve() {
        guard reserve >= 0 else { return }
        _ = Glibc.close(reserve)
        reserve = -1
    }

    func shedConnections(of id: SocketID, atMost limit: Int) -> Int {
        guard let entry = entry(of: id) else { return 0 }
        let descriptor = entry.pointee.descriptor
        if reserve < 0 { retakeReserve() }
        var count = 0
        for _ in 0..<limit {
            // Without the reserve there is nothing to accept with.
            guard reserve >= 0 else { break }
            releaseReserve()
            var address = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let result = systemCall {
                Int(towline_accept4(descriptor, &address, &length, Self.socketFlags))
            }
            if result.isSuccess {
                Self.askForReset(CInt(result.value))
                _ = Glibc.close(CInt(result.value))
                count += 1
            }
            retakeReserve()
            guard result.isSuccess || AcceptFailure(errno: result.errno) == .ofOneConnection,
                !result.wouldBlock
            else { break }
        }
        return count
    }

    /// Keeps a descriptor aside again.
    ///
    /// Another thread may have been quicker: then there is none until the next one is taken.
    private func retakeReserve() {
        do { try takeReserve() } catch { reserve = -1 }
    }

    var descriptorLimit: Int? {
        var limit = rlimit()
        let result = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return result == 0 ? Int(clamping: limit.rlim_cur) : nil
    }
}
