import Glibc
import Testing

@testable import Towline

@Suite("The race of addresses") struct ConnectRaceTests {
    private let start = MonotonicInstant(nanoseconds: 1_000_000_000)
    private let four = (1...3).map { SocketAddress.ipv4(IPv4Address(rawValue: $0), port: 80) }
    private let six = (1...3).map { SocketAddress.ipv6(IPv6Address(high: 0, low: $0), port: 80) }

    private func race(
        _ addresses: [SocketAddress],
        _ preference: FamilyPreference = .system,
        delay: Duration = .milliseconds(250)
    ) -> ConnectRace {
        ConnectRace(addresses, preferring: preference, delay: delay, at: start)
    }

    private func after(_ milliseconds: Int) -> MonotonicInstant {
        start.advanced(by: .milliseconds(milliseconds))
    }

    @Test("C4 Addresses are interleaved by family, beginning with the resolver's first")
    func interleaved() {
        let mixed = [six[0], six[1], six[2], four[0], four[1]]
        let order = [six[0], four[0], six[1], four[1], six[2]]
        #expect(race(mixed).addresses == order)
        #expect(race(mixed, .ipv6).addresses == order)
        #expect(race(mixed, .ipv4).addresses == [four[0], six[0], four[1], six[1], six[2]])
        #expect(race([four[0], six[0]]).addresses == [four[0], six[0]])
        #expect(race([four[0], four[1]], .ipv6).addresses == [four[0], four[1]])
    }

    @Test("C4 An address that is named twice is tried once")
    func duplicates() {
        #expect(race([four[0], four[0], six[0], four[0]]).addresses == [four[0], six[0]])
    }

    @Test("C4 The next one starts after the delay, not before")
    func delay() {
        var race = race([four[0], four[1], four[2]])
        #expect(race.step(at: start) == .start(0))
        #expect(race.step(at: start) == .wait(after(250)))
        #expect(race.step(at: after(249)) == .wait(after(250)))
        #expect(race.step(at: after(260)) == .start(1))
        #expect(race.step(at: after(260)) == .wait(after(510)))
        #expect(race.unfinished == [0, 1])
        #expect(race.step(at: after(510)) == .start(2))
        #expect(race.step(at: after(510)) == .wait(.distantFuture))
    }

    @Test("C4 The next one starts at once when one has failed")
    func failure() {
        var race = race([four[0], four[1], four[2]])
        #expect(race.step(at: start) == .start(0))
        race.failed(0, at: after(3))
        #expect(race.step(at: after(3)) == .start(1))
        #expect(race.step(at: after(3)) == .wait(after(253)))
        race.failed(1, at: after(4))
        #expect(race.step(at: after(4)) == .start(2))
        #expect(race.step(at: after(5)) == .wait(.distantFuture))
        race.failed(2, at: after(6))
        #expect(race.step(at: after(6)) == .exhausted)
        #expect(race.unfinished == [])
    }

    @Test("C4 The race is lost when the last one has failed, whichever that is")
    func exhausted() {
        var race = race([four[0], six[0]], delay: .zero)
        #expect(race.step(at: start) == .start(0))
        #expect(race.step(at: start) == .start(1))
        race.failed(1, at: start)
        #expect(race.step(at: start) == .wait(.distantFuture))
        race.failed(0, at: start)
        #expect(race.step(at: start) == .exhausted)
        var none = self.race([])
        #expect(none.step(at: start) == .exhausted)
    }

    @Test("C7 A busy address is tried again, later and later, and others meanwhile")
    func busy() {
        var race = race([four[0], four[1]])
        #expect(race.step(at: start) == .start(0))
        race.wasBusy(0, at: start)
        #expect(race.step(at: start) == .start(1))
        #expect(race.step(at: start) == .wait(after(1)))
        #expect(race.unfinished == [0, 1])
        race.failed(1, at: start)
        var time = 0
        for pause in [1, 2, 4, 8, 16, 32, 64, 100, 100, 100] {
            #expect(race.step(at: after(time)) == .wait(after(time + pause)))
            time += pause
            #expect(race.step(at: after(time)) == .start(0))
            race.wasBusy(0, at: after(time))
        }
    }

    @Test("C4 Only so many attempts are under way at once, whatever the delay")
    func limit() {
        let many = (1...40).map { SocketAddress.ipv4(IPv4Address(rawValue: $0), port: 80) }
        var race = race(many, delay: .zero)
        for index in 0..<ConnectRace.attemptLimit {
            #expect(race.step(at: start) == .start(index))
        }
        #expect(race.step(at: start) == .wait(.distantFuture))
        race.failed(3, at: start)
        #expect(race.step(at: start) == .start(ConnectRace.attemptLimit))
        #expect(race.step(at: start) == .wait(.distantFuture))
    }

    @Test("C4 Of several errors the one that says most is told")
    func informative() {
        func most(_ numbers: CInt...) -> CInt? {
            let errors = numbers.map { SystemCallError(call: "connect", errno: $0) }
            return SystemCallError.mostInformative(of: errors)?.errno
        }
        #expect(most(ENETUNREACH, ECONNREFUSED) == ECONNREFUSED)
        #expect(most(ECONNREFUSED, ETIMEDOUT) == ECONNREFUSED)
        #expect(most(EHOSTUNREACH, ETIMEDOUT) == ETIMEDOUT)
        #expect(most(ECONNREFUSED, EMFILE) == EMFILE)
        #expect(most(EADDRNOTAVAIL, EINVAL, ETIMEDOUT) == EINVAL)
        #expect(most(ENETUNREACH, EHOSTUNREACH) == ENETUNREACH, "the first among equals")
        #expect(most() == nil)
    }
}
