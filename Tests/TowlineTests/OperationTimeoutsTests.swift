import Testing

@testable import Towline

@Suite("Operation timeouts") struct OperationTimeoutsTests {
    private let now = MonotonicInstant(nanoseconds: 1_000)

    @Test("In the beginning nothing is due, ever")
    func nothing() {
        let timeouts = OperationTimeouts()
        #expect(timeouts.isEmpty)
        #expect(timeouts.earliest == .distantFuture)
        for kind in OperationTimeouts.Kind.allCases {
            #expect(!timeouts.isDue(kind, at: .distantFuture))
        }
    }

    @Test("The earliest of all deadlines is that of the one timer (TM2)")
    func earliest() {
        var timeouts = OperationTimeouts()
        for (index, kind) in OperationTimeouts.Kind.allCases.enumerated() {
            timeouts[kind] = at(500 - index)
            #expect(timeouts.earliest == at(500 - index))
            #expect(timeouts[kind] == at(500 - index))
        }
        for (index, kind) in OperationTimeouts.Kind.allCases.enumerated().reversed() {
            #expect(timeouts.earliest == at(500 - index))
            timeouts.clear(kind)
        }
        #expect(timeouts.isEmpty)
    }

    @Test("A deadline is due when it is reached, not before, and concerns no other (TM3)")
    func dueness() {
        var timeouts = OperationTimeouts()
        timeouts[.read] = at(10)
        #expect(!timeouts.isDue(.read, at: at(9)))
        #expect(timeouts.isDue(.read, at: at(10)))
        for kind in OperationTimeouts.Kind.allCases where kind != .read {
            #expect(!timeouts.isDue(kind, at: at(10)))
        }
        timeouts.clear(.read)
        #expect(!timeouts.isDue(.read, at: at(10)))
    }

    @Test("A read's clock starts when it becomes current, and not again (R6)")
    func readClock() {
        var timeouts = OperationTimeouts()
        let first = timeouts.follow(read: .timed(1, 100), now: { now })
        #expect(first)
        #expect(timeouts[.read] == at(1_100))
        #expect(timeouts.readOperation == OperationID(rawValue: 1))
        let again = timeouts.follow(read: .timed(1, 100), now: { at(5_000) })
        #expect(!again)
        #expect(timeouts[.read] == at(1_100), "bytes that come do not extend it")
        let next = timeouts.follow(read: .timed(2, 100), now: { at(5_000) })
        #expect(next)
        #expect(timeouts[.read] == at(5_100))
    }

    @Test("A read without a timeout has no deadline, and nobody asks for the time")
    func untimedRead() {
        var timeouts = OperationTimeouts()
        let changed = timeouts.follow(read: .timed(1, .max), now: unasked)
        #expect(!changed)
        #expect(timeouts.isEmpty)
        _ = timeouts.follow(read: .timed(2, 100), now: { now })
        let ended = timeouts.follow(read: nil, now: unasked)
        #expect(ended)
        #expect(timeouts.isEmpty, "with the read its deadline is gone")
        #expect(timeouts.readOperation == nil)
    }

    @Test("A write's clock starts when it becomes current, and not again (W1)")
    func writeClock() {
        var timeouts = OperationTimeouts()
        let first = timeouts.follow(write: .timed(1, 100), now: { now })
        #expect(first)
        #expect(timeouts[.write] == at(1_100))
        let again = timeouts.follow(write: .timed(1, 100), now: unasked)
        #expect(!again)
        let next = timeouts.follow(write: .timed(2, .max), now: unasked)
        #expect(next)
        #expect(timeouts.isEmpty)
        let ended = timeouts.follow(write: nil, now: unasked)
        #expect(!ended)
        #expect(timeouts.writeOperation == nil)
    }

    @Test("Reads and writes have each their own clock")
    func bothClocks() {
        var timeouts = OperationTimeouts()
        _ = timeouts.follow(read: .timed(1, 100), now: { now })
        _ = timeouts.follow(write: .timed(2, 50), now: { now })
        #expect(timeouts.earliest == at(1_050))
        _ = timeouts.follow(write: nil, now: { now })
        #expect(timeouts.earliest == at(1_100))
        #expect(timeouts.readOperation == OperationID(rawValue: 1))
    }

    @Test("An extension counts from the answer, and adds to what has elapsed (M1)")
    func extending() {
        var timeouts = OperationTimeouts()
        _ = timeouts.follow(read: .timed(1, 100), now: { now })
        #expect(timeouts.readElapsed == 100)
        timeouts.extendRead(by: 30, from: at(1_110))
        #expect(timeouts[.read] == at(1_140))
        #expect(timeouts.readElapsed == 130)
        timeouts.extendRead(by: 5, from: at(1_145))
        #expect(timeouts.readElapsed == 135)
        _ = timeouts.follow(write: .timed(2, 10), now: { now })
        timeouts.extendWrite(by: 1, from: at(1_010))
        #expect(timeouts[.write] == at(1_011))
        #expect(timeouts.writeElapsed == 11)
        #expect(timeouts.readElapsed == 135, "the read's is its own")
    }

    @Test("What one read was given is not given to the next (M2)")
    func nextRead() {
        var timeouts = OperationTimeouts()
        _ = timeouts.follow(read: .timed(1, 100), now: { now })
        timeouts.extendRead(by: 1_000_000, from: now)
        _ = timeouts.follow(read: .timed(2, 7), now: { now })
        #expect(timeouts[.read] == at(1_007))
        #expect(timeouts.readElapsed == 7)
    }

    @Test("Huge extensions are never, and do not overflow (TM6)")
    func hugeExtensions() {
        var timeouts = OperationTimeouts()
        _ = timeouts.follow(read: .timed(1, 100), now: { now })
        timeouts.extendRead(by: .max, from: now)
        timeouts.extendRead(by: .max, from: now)
        #expect(timeouts[.read] == .distantFuture)
        #expect(timeouts.readElapsed == .max)
        #expect(!timeouts.isDue(.read, at: .distantFuture))
    }

    private func at(_ nanoseconds: Int) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: Int64(nanoseconds))
    }

    private func unasked() -> MonotonicInstant {
        Issue.record("the clock was asked")
        return now
    }
}

extension ReadRequest {
    fileprivate static func timed(_ id: UInt64, _ timeout: Int64) -> ReadRequest {
        ReadRequest(
            kind: .any,
            tag: 0,
            id: OperationID(rawValue: id),
            limit: .max,
            timeout: timeout,
            delimiter: nil
        )
    }
}

extension WriteRequest {
    fileprivate static func timed(_ id: UInt64, _ timeout: Int64) -> WriteRequest {
        WriteRequest(tag: 0, id: OperationID(rawValue: id), end: 0, count: 1, timeout: timeout)
    }
}
