import Testing

@testable import Towline

@Suite("Time histogram") struct TimeHistogramTests {
    @Test("Nothing counted is a histogram of zero times, and any share of it is zero")
    func empty() {
        let histogram = TimeHistogram()
        #expect(histogram.count == 0)
        for share in [0, 0.5, 1] { #expect(histogram.percentile(share) == .zero) }
    }

    @Test("A time is told as the upper end of its class, never as less than it was (OB2)")
    func classes() {
        let upperEnds: [Int64: Int64] = [
            0: 1, 1: 2, 2: 4, 3: 4, 4: 8, 1_000: 1_024, 1_023: 1_024, 1_024: 2_048,
            1_000_000: 1_048_576,
        ]
        for (time, upperEnd) in upperEnds {
            var histogram = TimeHistogram()
            histogram.add(time)
            #expect(histogram.percentile(1) == .nanoseconds(upperEnd), "time \(time)")
        }
    }

    @Test("The ends of the range are counted, negative times as none (OB2)")
    func extremes() {
        var histogram = TimeHistogram()
        histogram.add(.max)
        histogram.add(.min)
        histogram.add(-1)
        #expect(histogram.count == 3)
        #expect(histogram.percentile(0.5) == .nanoseconds(1))
        #expect(histogram.percentile(1) >= .nanoseconds(Int64(1) << 62))
    }

    @Test("A percentile is the least class that so many times do not exceed (OB2)")
    func percentiles() {
        var histogram = TimeHistogram()
        for _ in 0..<98 { histogram.add(10) }
        histogram.add(1_000)
        histogram.add(1_000_000)
        #expect(histogram.count == 100)
        #expect(histogram.percentile(0.5) == .nanoseconds(16))
        #expect(histogram.percentile(0.98) == .nanoseconds(16))
        #expect(histogram.percentile(0.99) == .nanoseconds(1_024))
        #expect(histogram.percentile(1) == .nanoseconds(1_048_576))
        #expect(histogram.percentile(0) == .nanoseconds(16), "the shortest that was counted")
        #expect(histogram.percentile(7) == histogram.percentile(1))
        #expect(histogram.percentile(-7) == histogram.percentile(0))
    }

    @Test("Two are equal, and hashed alike, exactly if they counted the same")
    func equality() {
        var left = TimeHistogram()
        var right = TimeHistogram()
        left.add(5)
        #expect(left != right)
        right.add(6)
        #expect(left == right, "the same class")
        #expect(left.hashValue == right.hashValue)
        right.add(6)
        #expect(left != right)
    }
}
