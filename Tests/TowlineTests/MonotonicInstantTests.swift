import Testing

@testable import Towline

@Suite("Monotonic instant") struct MonotonicInstantTests {
    private let start = MonotonicInstant(nanoseconds: 1_000)

    @Test("Instants are ordered as their nanoseconds are, with the end of time last")
    func order() {
        #expect(start < start.advanced(byNanoseconds: 1))
        #expect(!(start < start))
        #expect(start < .distantFuture)
        #expect(MonotonicInstant(nanoseconds: .max) == .distantFuture)
    }

    @Test("A duration leads as far as it is long, a negative one nowhere (TM6)")
    func advancing() {
        #expect(start.advanced(by: .nanoseconds(5)).nanoseconds == 1_005)
        #expect(start.advanced(by: .zero) == start)
        #expect(start.advanced(by: .seconds(-1)) == start)
    }

    @Test("A huge duration leads to the end of time, and never wraps around (TM6)")
    func saturation() {
        #expect(start.advanced(by: .seconds(Int64.max)) == .distantFuture)
        #expect(start.advanced(byNanoseconds: .max) == .distantFuture)
        #expect(MonotonicInstant.distantFuture.advanced(by: .seconds(1)) == .distantFuture)
        let last = MonotonicInstant(nanoseconds: .max - 5)
        #expect(last.advanced(byNanoseconds: 4) < .distantFuture)
        #expect(last.advanced(byNanoseconds: 6) == .distantFuture)
    }

    @Test("The time since a later instant is none")
    func since() {
        let later = start.advanced(by: .milliseconds(1))
        #expect(later.since(start) == .milliseconds(1))
        #expect(start.since(later) == .zero)
        #expect(start.since(start) == .zero)
    }

    @Test("The clock never goes back")
    func clock() {
        var before = MonotonicInstant.readClock()
        #expect(before.nanoseconds > 0)
        for _ in 0..<1_000 {
            let now = MonotonicInstant.readClock()
            #expect(now >= before)
            before = now
        }
    }
}

@Suite("Durations in nanoseconds") struct SaturatedNanosecondsTests {
    @Test("A part of a nanosecond is rounded up, so that nothing is early (TM3)")
    func rounding() {
        #expect(Duration.nanoseconds(7).saturatedNanoseconds == 7)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: 1).saturatedNanoseconds == 1)
        #expect(
            Duration(secondsComponent: 1, attosecondsComponent: 999_999_999_999_999_999)
                .saturatedNanoseconds == 2_000_000_000,
            "the seconds take what the nanoseconds cannot hold"
        )
        #expect(Duration.seconds(1.5).saturatedNanoseconds == 1_500_000_000)
    }

    @Test("What is negative counts as none, by however little (TM6)")
    func negative() {
        #expect(Duration.zero.saturatedNanoseconds == 0)
        #expect(Duration.nanoseconds(-1).saturatedNanoseconds == 0)
        #expect(Duration(secondsComponent: 0, attosecondsComponent: -1).saturatedNanoseconds == 0)
        #expect(Duration.seconds(Int64.min).saturatedNanoseconds == 0)
    }

    @Test("What is longer than 292 years is never (TM6)")
    func huge() {
        #expect(Duration.nanoseconds(Int64.max).saturatedNanoseconds == .max)
        #expect(Duration.nanoseconds(Int64.max - 1).saturatedNanoseconds == .max - 1)
        #expect(Duration.seconds(9_223_372_036).saturatedNanoseconds == 9_223_372_036_000_000_000)
        #expect(Duration.seconds(9_223_372_037).saturatedNanoseconds == .max)
        #expect(Duration.seconds(Int64.max).saturatedNanoseconds == .max)
        let last =
            Duration.nanoseconds(Int64.max)
            + Duration(secondsComponent: 0, attosecondsComponent: 1)
        #expect(last.saturatedNanoseconds == .max, "rounding up overflows, too")
    }
}
