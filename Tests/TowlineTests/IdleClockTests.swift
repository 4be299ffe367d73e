import Testing

@testable import Towline

@Suite("The clock of silence") struct IdleClockTests {
    @Test("M7: without limits no deadline ever comes")
    func noLimits() {
        var clock = IdleClock()
        clock.begin(at: at(5))
        #expect(clock.nextDeadline == .distantFuture)
        #expect(clock.takeDue(at: at(1_000)) == [])
    }

    @Test("M7: each direction has its own deadline, both of them count from the later movement")
    func directions() {
        var clock = clock(read: 30, write: 50, both: 40)
        #expect(clock.nextDeadline == at(30))
        clock.lastReceived = at(20)
        #expect(clock.nextDeadline == at(50), "reading at 50, writing at 50, both at 60")
        #expect(clock.takeDue(at: at(49)) == [])
        #expect(clock.takeDue(at: at(50)) == [.read, .write])
        #expect(clock.nextDeadline == at(60))
        #expect(clock.takeDue(at: at(60)) == [.both])
    }

    @Test("M7: silence that goes on is told of once a limit, and missed limits are not made up for")
    func again() {
        var clock = clock(read: 10)
        #expect(clock.takeDue(at: at(10)) == [.read])
        #expect(clock.takeDue(at: at(10)) == [], "told of already")
        #expect(clock.nextDeadline == at(20))
        #expect(clock.takeDue(at: at(75)) == [.read], "once, for six of them")
        #expect(clock.nextDeadline == at(80))
    }

    @Test("M7: a movement moves the deadline, also one that was told of")
    func movement() {
        var clock = clock(read: 10)
        #expect(clock.takeDue(at: at(10)) == [.read])
        clock.lastReceived = at(13)
        #expect(clock.nextDeadline == at(23))
        #expect(clock.takeDue(at: at(22)) == [])
        #expect(clock.takeDue(at: at(23)) == [.read])
    }

    @Test("M7: a direction is silent for as long as its limit, and one without a limit never is")
    func silence() {
        var clock = clock(read: 10, both: 30)
        #expect(!clock.isSilent(.read, at: at(9)) && clock.isSilent(.read, at: at(10)))
        #expect(!clock.isSilent(.write, at: at(1_000)))
        clock.lastSent = at(5)
        #expect(!clock.isSilent(.both, at: at(34)) && clock.isSilent(.both, at: at(35)))
        clock.limits = nil
        #expect(!clock.isSilent(.read, at: at(1_000)))
    }

    @Test("TM6: a limit of centuries never comes, and nothing overflows")
    func huge() {
        var clock = clock(read: .max - 1)
        #expect(clock.takeDue(at: at(1_000)) == [])
        clock.lastReceived = at(1_000)
        #expect(clock.nextDeadline == .distantFuture)
    }

    private func clock(read: Int64 = .max, write: Int64 = .max, both: Int64 = .max) -> IdleClock {
        var clock = IdleClock()
        clock.limits = IdleLimits(read: read, write: write, both: both)
        clock.begin(at: at(0))
        return clock
    }

    private func at(_ nanoseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds)
    }
}
