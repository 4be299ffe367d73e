import Testing

@testable import Towline

@Suite("Lifecycle") struct LifecycleTests {
    private typealias Queues = Lifecycle.Queues
    private typealias Action = Lifecycle.Action

    private static let phases: [Lifecycle.Phase] = [
        .idle, .connecting, .connected, .finishing, .disconnecting,
    ]
    private static let nothing = Queues(hasReads: false, hasWrites: false, hasWritten: false)
    private static let everyQueues = [false, true].flatMap { hasReads in
        [(false, false), (false, true), (true, true)].map { hasWrites, hasWritten in
            Queues(hasReads: hasReads, hasWrites: hasWrites, hasWritten: hasWritten)
        }
    }

    // MARK: Starting

    @Test("A start leads to connecting, or at once to connected")
    func starting() {
        #expect(Lifecycle().phase == .idle)
        #expect(!Lifecycle().isOpen)
        #expect(lifecycle(.connecting).phase == .connecting)
        #expect(lifecycle(.connecting).isOpen, "reads and writes may be queued (L3)")
        #expect(lifecycle(.connected).phase == .connected)
        #expect(lifecycle(.connected).isOpen)
        #expect(!lifecycle(.finishing).isOpen)
        #expect(!lifecycle(.disconnecting).isOpen)
    }

    @Test("A connection is news only while connecting (L5)", arguments: phases)
    func connected(_ phase: Lifecycle.Phase) {
        var lifecycle = lifecycle(phase)
        let isNews = lifecycle.connected()
        #expect(isNews == (phase == .connecting))
        #expect(lifecycle.phase == (phase == .connecting ? .connected : phase))
    }

    // MARK: Closing

    @Test("What is started closes, once; what is idle or closing does nothing", arguments: phases)
    func closing(_ phase: Lifecycle.Phase) {
        var lifecycle = lifecycle(phase)
        let isStarted = phase != .idle && phase != .disconnecting
        let first = lifecycle.close()
        #expect(first == (isStarted ? .close : .none))
        #expect(lifecycle.phase == (phase == .idle ? .idle : .disconnecting))
        let second = lifecycle.close()
        #expect(second == .none, "the first reason stands")
    }

    @Test("Behind a last word the peer's end is awaited, unless an end was sent or came (TE4)")
    func lastWord() {
        var connected = lifecycle(.connected)
        let action = connected.closeBehindLastWord()
        #expect(action == .finish && connected.phase == .finishing)
        let again = connected.closeBehindLastWord()
        #expect(again == .close && connected.phase == .disconnecting)
        for phase in Self.phases where phase != .connected {
            var (one, other) = (lifecycle(phase), lifecycle(phase))
            let (first, second) = (one.closeBehindLastWord(), other.close())
            #expect(first == second && one.phase == other.phase)
        }
        var ended = lifecycle(.connected)
        _ = ended.endWriting(Self.nothing)
        let behindEnd = ended.closeBehindLastWord()
        #expect(behindEnd == .close)
        var left = lifecycle(.connected)
        _ = left.peerEnded(.keepOpen, Self.nothing)
        let behindPeer = left.closeBehindLastWord()
        #expect(behindPeer == .close)
    }

    @Test("When the descriptor is gone the socket is idle, with nothing left over (L1)")
    func closed() {
        for phase in Self.phases {
            var lifecycle = lifecycle(phase)
            _ = lifecycle.ask(
                .afterReads,
                Queues(hasReads: true, hasWrites: false, hasWritten: true)
            )
            lifecycle.closed()
            #expect(lifecycle.phase == .idle)
            #expect(!lifecycle.isDisconnectPending)
            #expect(!lifecycle.peerHasEnded)
            lifecycle.start(connecting: true)
            #expect(lifecycle.phase == .connecting, "and may start again")
            #expect(!lifecycle.isDisconnectPending)
        }
    }

    // MARK: Asking for a disconnect

    @Test("A disconnect now closes whatever the queues hold", arguments: phases)
    func askingForNow(_ phase: Lifecycle.Phase) {
        for queues in Self.everyQueues {
            var lifecycle = lifecycle(phase)
            let isOpen = lifecycle.isOpen
            let action = lifecycle.ask(.now, queues)
            #expect(action == (isOpen ? .close : .none))
            #expect(lifecycle.phase == (isOpen ? .disconnecting : phase))
        }
    }

    @Test("A disconnect waits for the queues it names and for no others (D1)")
    func askingForLater() {
        for moment in [DisconnectMoment.afterReads, .afterWrites, .afterReadsAndWrites] {
            for queues in Self.everyQueues {
                for phase in [Lifecycle.Phase.connecting, .connected] {
                    var lifecycle = lifecycle(phase)
                    let action = lifecycle.ask(moment, queues)
                    let waits = waits(moment, queues)
                    #expect(action == (waits ? .none : farewell(moment, queues, phase)))
                    #expect(lifecycle.isDisconnectPending)
                    if waits { #expect(lifecycle.phase == phase) }
                }
            }
        }
    }

    @Test("Where nothing is open a later disconnect is not even pending")
    func askingTooLate() {
        for moment in [DisconnectMoment.afterReads, .afterWrites, .afterReadsAndWrites] {
            for phase in [Lifecycle.Phase.idle, .finishing, .disconnecting] {
                var lifecycle = lifecycle(phase)
                let wasPending = lifecycle.isDisconnectPending
                let action = lifecycle.ask(moment, Self.nothing)
                #expect(action == .none)
                #expect(lifecycle.phase == phase)
                #expect(lifecycle.isDisconnectPending == wasPending)
            }
        }
    }

    @Test("Two later disconnects add up, in either order, and cannot be taken back (D1)")
    func addingUp() {
        let orders: [[DisconnectMoment]] = [
            [.afterReads, .afterWrites], [.afterWrites, .afterReads],
        ]
        for moments in orders {
            let both = Queues(hasReads: true, hasWrites: true, hasWritten: true)
            var lifecycle = lifecycle(.connected)
            for moment in moments {
                let action = lifecycle.ask(moment, both)
                #expect(action == .none)
            }
            for (hasReads, hasWrites) in [(true, false), (false, true), (true, true)] {
                let action = lifecycle.queuesChanged(
                    Queues(hasReads: hasReads, hasWrites: hasWrites, hasWritten: true)
                )
                #expect(action == .none)
            }
            let action = lifecycle.queuesChanged(
                Queues(hasReads: false, hasWrites: false, hasWritten: true)
            )
            #expect(action == .finish)
        }
    }

    @Test("A later disconnect is overtaken by one that is now")
    func overtaking() {
        var lifecycle = lifecycle(.connected)
        let busy = Queues(hasReads: true, hasWrites: true, hasWritten: true)
        _ = lifecycle.ask(.afterReadsAndWrites, busy)
        let action = lifecycle.ask(.now, busy)
        #expect(action == .close)
    }

    @Test(
        "Behind written bytes the end is sent first; without any, or unconnected, it is not (D4)"
    )
    func graceful() {
        let written = Queues(hasReads: true, hasWrites: false, hasWritten: true)
        let unwritten = Queues(hasReads: true, hasWrites: false, hasWritten: false)
        for (phase, queues, expected) in [
            (Lifecycle.Phase.connected, written, Action.finish), (.connected, unwritten, .close),
            (.connecting, unwritten, .close),
        ] {
            var lifecycle = lifecycle(phase)
            let action = lifecycle.ask(.afterWrites, queues)
            #expect(action == expected)
            #expect(lifecycle.phase == (expected == .finish ? .finishing : .disconnecting))
        }
        var lifecycle = lifecycle(.connected)
        let action = lifecycle.ask(
            .afterReads,
            Queues(hasReads: false, hasWrites: true, hasWritten: true)
        )
        #expect(action == .close, "reads only: writes are dropped, as was asked")
    }

    @Test("Queues that change mean nothing unless something waits for them", arguments: phases)
    func queuesWithoutAsking(_ phase: Lifecycle.Phase) {
        for queues in Self.everyQueues {
            var lifecycle = lifecycle(phase)
            let action = lifecycle.queuesChanged(queues)
            #expect(action == .none)
            #expect(lifecycle.phase == phase)
        }
    }

    // MARK: The peer's end

    @Test("The peer's end closes, or waits for writes where the policy says so (E2)")
    func peerEnding() {
        for queues in Self.everyQueues {
            var lifecycle = lifecycle(.connected)
            let action = lifecycle.peerEnded(.disconnect, queues)
            #expect(action == .close)
            #expect(lifecycle.peerHasEnded)
            var patient = self.lifecycle(.connected)
            let second = patient.peerEnded(.finishWrites, queues)
            #expect(second == (queues.hasWrites ? .awaitWrites : .close))
            #expect(patient.peerHasEnded)
        }
    }

    @Test("Behind the peer's end the last write closes, whatever reads wait")
    func lastWriteBehindTheEnd() {
        for hasReads in [true, false] {
            let busy = Queues(hasReads: hasReads, hasWrites: true, hasWritten: true)
            let done = Queues(hasReads: hasReads, hasWrites: false, hasWritten: true)
            var lifecycle = lifecycle(.connected)
            _ = lifecycle.peerEnded(.finishWrites, busy)
            #expect(lifecycle.phase == .connected)
            let early = lifecycle.queuesChanged(busy)
            #expect(early == .none)
            let action = lifecycle.queuesChanged(done)
            #expect(action == .close)
        }
    }

    @Test("The peer's end while a disconnect is pending closes all the same (E2)")
    func peerEndingWhilePending() {
        let busy = Queues(hasReads: true, hasWrites: true, hasWritten: true)
        var lifecycle = lifecycle(.connected)
        _ = lifecycle.ask(.afterReads, busy)
        let action = lifecycle.peerEnded(.disconnect, busy)
        #expect(action == .close)
        #expect(lifecycle.peerHasEnded, "so that it is reported as the peer's")
    }

    @Test("The peer's end answers ours: it closes, and is not held against the peer (E1)")
    func peerEndingWhileFinishing() {
        for policy in [HalfClosePolicy.disconnect, .finishWrites] {
            var lifecycle = lifecycle(.finishing)
            let action = lifecycle.peerEnded(policy, Self.nothing)
            #expect(action == .close)
            #expect(!lifecycle.peerHasEnded)
        }
    }

    @Test("The peer's end is nothing where there is no connection", arguments: phases)
    func peerEndingElsewhere(_ phase: Lifecycle.Phase) {
        guard phase != .connected, phase != .finishing else { return }
        var lifecycle = lifecycle(phase)
        let action = lifecycle.peerEnded(.disconnect, Self.nothing)
        #expect(action == .none)
        #expect(lifecycle.phase == phase)
        #expect(!lifecycle.peerHasEnded)
    }

    // MARK: Half-close

    @Test("With keepOpen the reads are closed first, and whatever else waits for that (H3)")
    func keepingOpen() {
        let busy = Queues(hasReads: true, hasWrites: true, hasWritten: true)
        var lifecycle = lifecycle(.connected)
        let action = lifecycle.peerEnded(.keepOpen, busy)
        #expect(action == .closeReading)
        #expect(lifecycle.peerHasEnded && lifecycle.staysOpen && lifecycle.isClosingReading)
        for moment in [DisconnectMoment.afterReads, .afterWrites] {
            let early = lifecycle.ask(moment, Self.nothing)
            #expect(early == .none)
        }
        let late = lifecycle.readingClosed(Self.nothing)
        #expect(late == .close)
        #expect(!lifecycle.endsByPeer, "asked for behind the peer's end, so deliberate (E1)")
    }

    @Test("Our end is sent once, behind the writes, on an established connection (H4)")
    func endingWriting() {
        let busy = Queues(hasReads: true, hasWrites: true, hasWritten: true)
        let done = Queues(hasReads: true, hasWrites: false, hasWritten: true)
        var lifecycle = lifecycle(.connecting)
        let actions = [
            lifecycle.endWriting(done), lifecycle.connected() ? .none : .close,
            lifecycle.queuesChanged(busy), lifecycle.queuesChanged(done),
            lifecycle.queuesChanged(done), lifecycle.endWriting(done),
        ]
        #expect(actions == [.none, .none, .none, .sendEnd, .none, .none])
        #expect(lifecycle.isWritingOver)
        let end = lifecycle.peerEnded(.keepOpen, done)
        #expect(end == .closeReading)
        let over = lifecycle.readingClosed(done)
        #expect(over == .close)
        #expect(lifecycle.endsByPeer)
    }

    // MARK: Helpers

    /// A lifecycle that has come to `phase`.
    private func lifecycle(_ phase: Lifecycle.Phase) -> Lifecycle {
        var lifecycle = Lifecycle()
        switch phase {
        case .idle:
            break
        case .connecting:
            lifecycle.start(connecting: true)
        case .connected:
            lifecycle.start(connecting: false)
        case .finishing:
            lifecycle.start(connecting: false)
            let written = Queues(hasReads: false, hasWrites: false, hasWritten: true)
            _ = lifecycle.ask(.afterWrites, written)
        case .disconnecting:
            lifecycle.start(connecting: false)
            _ = lifecycle.close()
        }
        precondition(lifecycle.phase == phase, "each phase can be come to")
        return lifecycle
    }

    private func waits(_ moment: DisconnectMoment, _ queues: Queues) -> Bool {
        switch moment {
        case .now: false
        case .afterReads: queues.hasReads
        case .afterWrites: queues.hasWrites
        case .afterReadsAndWrites: queues.hasReads || queues.hasWrites
        }
    }

    private func farewell(
        _ moment: DisconnectMoment,
        _ queues: Queues,
        _ phase: Lifecycle.Phase
    ) -> Action {
        moment != .afterReads && queues.hasWritten && phase == .connected ? .finish : .close
    }
}
