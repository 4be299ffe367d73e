internal import CLinux
internal import Glibc

extension EpollBackend {
    /// The events that tell of an end, a hang-up or an error.
    private static var endEvents: UInt32 {
        towline_epoll_rdhup | towline_epoll_hup | towline_epoll_err
    }

    @inline(__always)
    func receive(_ descriptor: CInt) -> SystemCallResult {
        figures.receives &+= 1
        // Locals, since a closure that mentions `self` would retain it.
        let buffer = receiveBuffer
        let size = receiveBufferSize
        let result = systemCall { recv(descriptor, buffer, size, 0) }
        if _fastPath(result.value > 0) { figures.receivedBytes &+= result.value }
        return result
    }

    /// Lends the first bytes of the receive buffer; they stay what they are until the next receive.
    @inline(__always)
    func deliver<Sink: EventSink>(_ byteCount: Int, of id: SocketID, _ sink: Sink) {
        // A receive never answers more than the buffer's size.
        let bytes = UnsafeRawBufferPointer(start: receiveBuffer, count: byteCount)
        sink.handle(.received(RawSpan(_unsafeBytes: bytes)), of: id, from: self)
    }

    func resumeReceiving(_ id: SocketID) {
        guard let entry = entry(of: id) else { return }
        entry.pointee.flags.insert(.wantsInput)
        let usual: EpollFlags = [.isInSet, .watchesInput]
        guard !entry.pointee.flags.isSuperset(of: usual) else { return }
        rewatchInput(id)
    }

    func pauseReceiving(_ id: SocketID) {
        // The kernel is not told. If something comes nevertheless, the interest is taken back then.
        entry(of: id)?.pointee.flags.remove(.wantsInput)
    }

    private func rewatchInput(_ id: SocketID) {
        guard let entry = entry(of: id),
            entry.pointee.flags.isDisjoint(with: [.isConnecting, .toldEnd]),
            entry.pointee.descriptor >= 0
        else { return }
        // A hang-up was taken back when it was told; the end may be next, now that bytes go away.
        let interest: EpollFlags =
            entry.pointee.kind == .stream ? [.watchesInput, .watchesHangUp] : .watchesInput
        guard !entry.pointee.flags.contains(.isInSet) else {
            watch(id) { $0.formUnion(interest) }
            return
        }
        // It was taken out when a hang-up came behind unread bytes; back in, it reports them.
        entry.pointee.flags.formUnion(interest)
        do {
            try enterSet(id)
        } catch {
            results.append(.failed(id, .receiving, error))
        }
    }

    // MARK: Streams

    func serveStream<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        if entry.pointee.flags.contains(.isConnecting) {
            finishConnecting(id, sink)
            return
        }
        let tellsOfInput = mask & (towline_epoll_in | Self.endEvents) != 0
        if tellsOfInput, entry.pointee.flags.contains(.wantsInput),
            !entry.pointee.flags.contains(.toldEnd)
        {
            finishReceiving(id, mask, receive(entry.pointee.descriptor), sink)
        } else if tellsOfInput {
            noteUnwanted(id, mask, sink)
        }
        if mask & (towline_epoll_out | towline_epoll_err | towline_epoll_hup) != 0 {
            sendPendingOutput(id, sink)
        }
    }

    /// Goes on after a receive that filled the buffer.
    @inline(never)
    func receiveMore<Sink: EventSink>(_ id: SocketID, after count: Int, _ sink: Sink) {
        drain(id, 0, alreadyReceived: count, alreadyMade: 1, sink)
    }

    /// Goes on after the first receive of a stream, whatever it answered.
    @inline(never)
    func finishReceiving<Sink: EventSink>(
        _ id: SocketID,
        _ mask: UInt32,
        _ result: SystemCallResult,
        _ sink: Sink
    ) {
        let isEnding = mask & Self.endEvents != 0
        guard result.value > 0 else {
            tellEnd(id, mask, result, sink)
            return
        }
        deliver(result.value, of: id, sink)
        guard isEnding || result.value == receiveBufferSize else { return }
        drain(id, mask, alreadyReceived: result.value, alreadyMade: 1, sink)
    }

    /// Receives until the kernel has no more, the budget is used, or nobody wants more.
    private func drain<Sink: EventSink>(
        _ id: SocketID,
        _ mask: UInt32,
        alreadyReceived: Int,
        alreadyMade: Int,
        _ sink: Sink
    ) {
        let isEnding = mask & Self.endEvents != 0
        var byteCount = alreadyReceived
        var callCount = alreadyMade
        while byteCount < budget.receivedBytesPerSocket, callCount < budget.receivesPerSocket {
            // Looked up anew each time: a callback may have closed or paused it.
            guard let entry = entry(of: id), entry.pointee.flags.contains(.wantsInput) else {
                return
            }
            let result = receive(entry.pointee.descriptor)
            guard result.value > 0 else {
                tellEnd(id, mask, result, sink)
                return
            }
            byteCount += result.value
            callCount += 1
            deliver(result.value, of: id, sink)
            // A short receive has emptied the kernel's buffer, unless an end is behind it.
            if result.value < receiveBufferSize, !isEnding { return }
        }
        // Whatever is left is reported again by the next wait.
    }

    /// Tells what a receive without bytes means.
    private func tellEnd<Sink: EventSink>(
        _ id: SocketID,
        _ mask: UInt32,
        _ result: SystemCallResult,
        _ sink: Sink
    ) {
        guard let entry = entry(of: id) else { return }
        if result.wouldBlock {
            guard mask & (towline_epoll_err | towline_epoll_hup) != 0 else { return }
            tellSilentEnd(id, mask, sink)
            return
        }
        entry.pointee.flags.insert(.toldEnd)
        sendBeforeEnd(id, mask, sink)
        // The callbacks of what was sent may have closed it.
        guard self.entry(of: id) != nil else { return }
        if result.value == 0 {
            self.entry(of: id)?.pointee.flags.insert(.peerHasEnded)
            sink.handle(.reachedEnd, of: id, from: self)
        } else {
            let error = SystemCallError(call: "recv", errno: result.errno)
            sink.handle(.failed(.receiving, error), of: id, from: self)
        }
    }

    /// The peer takes nothing any more, which only an error or a hang-up tells while nothing is
    /// sent: behind its end alone it might well.
    private func tellLostPeer<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let entry = entry(of: id), entry.pointee.flags.contains(.peerHasEnded),
            entry.pointee.flags.isDisjoint(with: [.cannotSend, .hasFinished]),
            entry.pointee.output == nil
        else { return }
        var number = Self.takeError(of: entry.pointee.descriptor)
        if number == 0, mask & towline_epoll_hup != 0 { number = EPIPE }
        guard number != 0 else { return }
        entry.pointee.flags.insert(.cannotSend)
        let error = SystemCallError(call: "send", errno: number)
        sink.handle(.failed(.sending, error), of: id, from: self)
    }

    /// Room to send that came together with an end is used, and told of, before the end is told.
    ///
    /// Not where the connection has failed: a send would find nothing but that, and tell it first.
    private func sendBeforeEnd<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard mask & towline_epoll_out != 0,
            mask & (towline_epoll_err | towline_epoll_hup) == 0
        else { return }
        sendPendingOutput(id, sink)
    }

    /// An error or hang-up flag although a receive finds neither bytes nor an end: the reason lies
    /// in the socket's error, if it is not used up by another call.
    private func tellSilentEnd<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        let number = Self.takeError(of: entry.pointee.descriptor)
        guard number != 0 else {
            // Nothing is wrong. A flag that stays would spin, so the socket waits outside; unless
            // the next receive finds what this one has not.
            guard mask & towline_epoll_hup != 0, Self.peek(entry.pointee.descriptor).wouldBlock
            else { return }
            noteUnwanted(id, mask, sink)
            return
        }
        entry.pointee.flags.insert(.toldEnd)
        let error = SystemCallError(call: "recv", errno: number)
        sink.handle(.failed(.receiving, error), of: id, from: self)
    }

    /// Reads and clears the socket's pending error; 0 if there is none.
    static func takeError(of descriptor: CInt) -> CInt {
        var number: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        let result = getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &length)
        return result == 0 ? number : errno
    }

    /// Takes back the interest in what nobody wants now, and tells of an end where there is one.
    private func noteUnwanted<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        figures.disarmedEvents &+= 1
        let isGone = mask & (towline_epoll_hup | towline_epoll_err) != 0
        watch(id) {
            $0.remove(.watchesInput)
            if mask & Self.endEvents != 0 { $0.remove(.watchesHangUp) }
            // These two cannot be disarmed.
            if isGone { $0.remove(.isInSet) }
        }
        guard mask & Self.endEvents != 0, let entry = entry(of: id) else { return }
        guard !entry.pointee.flags.contains(.toldEnd) else {
            if isGone { tellLostPeer(id, mask, sink) }
            return
        }
        let result = Self.peek(entry.pointee.descriptor)
        if result.value > 0 || result.wouldBlock {
            guard !entry.pointee.flags.contains(.toldHangUp) else { return }
            entry.pointee.flags.insert(.toldHangUp)
            sink.handle(.hungUp, of: id, from: self)
        } else {
            tellEnd(id, 0, result, sink)
        }
    }

    /// What a receive would find, which is left there.
    private static func peek(_ descriptor: CInt) -> SystemCallResult {
        var byte: UInt8 = 0
        return systemCall { recv(descriptor, &byte, 1, CInt(MSG_PEEK)) }
    }

    // MARK: Plain descriptors

    func readPlain<Sink: EventSink>(_ id: SocketID, _ mask: UInt32, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        guard entry.pointee.flags.contains(.wantsInput) else {
            noteUnwantedPlain(id)
            return
        }
        let descriptor = entry.pointee.descriptor
        let result = systemCall { read(descriptor, receiveBuffer, receiveBufferSize) }
        if result.value > 0 {
            deliver(result.value, of: id, sink)
        } else if !result.wouldBlock {
            noteUnwantedPlain(id)
            if result.value == 0 {
                sink.handle(.reachedEnd, of: id, from: self)
            } else {
                let error = SystemCallError(call: "read", errno: result.errno)
                sink.handle(.failed(.receiving, error), of: id, from: self)
            }
        }
    }

    /// Says that a descriptor of somebody else's is readable; what follows from it is theirs.
    func tellReadiness<Sink: EventSink>(_ id: SocketID, _ sink: Sink) {
        guard let entry = entry(of: id) else { return }
        guard entry.pointee.flags.contains(.wantsInput) else {
            noteUnwantedPlain(id)
            return
        }
        sink.handle(.received(RawSpan()), of: id, from: self)
    }

    private func noteUnwantedPlain(_ id: SocketID) {
        figures.disarmedEvents &+= 1
        watch(id) {
            $0.remove(.watchesInput)
            $0.remove(.isInSet)
        }
    }
}
