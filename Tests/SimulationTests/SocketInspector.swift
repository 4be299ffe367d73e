import TowlineBytes

@testable import Towline

/// Looks at a socket between turns, when everything that it is to do must be done or listed.
///
/// A byte that is lost shows in what is delivered; a socket that will never do anything again shows
/// only here.
enum SocketInspector {
    /// What is wrong, in words; nothing, mostly.
    static func inspect(_ socket: StreamSocket, on reactor: Reactor) -> [String] {
        var complaints: [String] = []
        if reactor.gather.count != 0 {
            complaints.append("bytes are gathered outside of callbacks")
        }
        switch socket.lifecycle.phase {
        case .idle, .disconnecting:
            break
        case .connecting:
            complaints += inspectDeadlines(of: socket, on: reactor)
        case .finishing:
            complaints += inspectDeadlines(of: socket, on: reactor)
            if !reactor.timers.contains(socket.timer) {
                complaints.append("lingers without a timer")
            }
        case .connected:
            complaints += inspectDeadlines(of: socket, on: reactor)
            complaints += inspectReads(of: socket)
            complaints += inspectWrites(of: socket)
            complaints += inspectEnds(of: socket)
        }
        return complaints.map { "\($0) (\(socket.lifecycle.phase), \(socket.obstacles.rawValue))" }
    }

    private static func inspectDeadlines(of socket: StreamSocket, on reactor: Reactor) -> [String] {
        var earliest = socket.extras?.timeouts.earliest ?? .distantFuture
        if socket.lifecycle.phase == .connected {
            earliest = min(earliest, socket.idleClock.nextDeadline)
        }
        guard earliest != .distantFuture, !reactor.work.pending.contains(.expire) else { return [] }
        guard let deadline = reactor.timers.deadline(of: socket.timer) else {
            return ["a deadline runs without a timer"]
        }
        return max(deadline, socket.timerDeadline) > earliest ? ["the timer is set too late"] : []
    }

    private static func inspectReads(of socket: StreamSocket) -> [String] {
        var complaints: [String] = []
        let isListed = socket.listed.contains(.serveAgain)
        let isPausing = socket.obstacles.contains(.readsArePaused)
        if socket.reads.currentTimeout != .max, !isPausing,
            socket.extras?.timeouts.readOperation != socket.reads.current?.id
        {
            complaints.append("the current read's clock does not run")
        }
        if (socket.kept != nil) != socket.obstacles.contains(.hasKeptBytes) {
            complaints.append("the flag and the kept bytes differ")
        }
        if socket.kept?.isEmpty == true { complaints.append("an empty buffer is kept") }
        if !socket.reads.isEmpty, !isListed, !isPausing, socket.inputEnd == nil,
            !socket.lifecycle.peerHasEnded, socket.obstacles.contains(.isPaused)
        {
            complaints.append("a read waits, and nothing is received")
        }
        return complaints
    }

    private static func inspectWrites(of socket: StreamSocket) -> [String] {
        var complaints: [String] = []
        let writes = socket.writes
        if writes.finished != nil, !socket.listed.contains(.reportWrites) {
            complaints.append("a finished write is told of by nobody")
        }
        if writes.hasQueued, !writes.isSending, !socket.listed.contains(.flush),
            socket.extras?.sendFailure == nil
        {
            complaints.append("a queued write is flushed by nobody")
        }
        if socket.obstacles.isEmpty, writes.isSending || writes.hasQueued {
            complaints.append("writes wait, and the fast path is open")
        }
        if writes.pendingBytes > socket.highWaterMark, !socket.isAboveHighWaterMark {
            complaints.append("the high-water mark was passed unseen")
        }
        return complaints
    }

    private static func inspectEnds(of socket: StreamSocket) -> [String] {
        var complaints: [String] = []
        // A read up to the end is completed by the next turn, or when reads go on.
        let isHeld =
            socket.obstacles.contains(.readsArePaused) && socket.reads.currentKind == .end
        if socket.inputEnd != nil, socket.kept == nil, !socket.listed.contains(.serveAgain),
            !isHeld
        {
            complaints.append("an end behind no bytes takes no effect")
        }
        if socket.inputEnd != nil, socket.kept != nil, socket.reads.isEmpty,
            !socket.obstacles.contains(.toldHangUp)
        {
            complaints.append("an end behind kept bytes was told to nobody")
        }
        let mayStayOpen =
            socket.lifecycle.isClosingReading
            || socket.lifecycle.staysOpen && !socket.lifecycle.isWritingOver
        if socket.lifecycle.peerHasEnded, socket.writes.isEmpty, !mayStayOpen {
            complaints.append("the peer has ended, nothing waits, and it stays open")
        }
        if socket.lifecycle.isDisconnectPending, socket.reads.isEmpty, socket.writes.isEmpty,
            !socket.lifecycle.isClosingReading
        {
            complaints.append("a pending disconnect waits for nothing")
        }
        return complaints
    }
}
