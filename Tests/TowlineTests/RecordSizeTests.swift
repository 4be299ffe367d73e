import Testing

@testable import Towline

@Suite("Record size") struct RecordSizeTests {
    private func instant(_ milliseconds: Int64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: 5_000_000_000 + milliseconds * 1_000_000)
    }

    @Test("TW4 Records are small for 64 KiB, and again behind a second of silence")
    func burst() {
        var size = RecordSize(small: 4_096)
        size.begin(at: instant(0))
        for _ in 0..<16 {
            #expect(size.limit == 4_096)
            size.note(4_096)
        }
        #expect(size.limit == 16_384)
        size.begin(at: instant(999))
        #expect(size.limit == 16_384)
        size.note(16_384)
        // A second behind the last one, not behind the first.
        size.begin(at: instant(1_998))
        #expect(size.limit == 16_384)
        size.begin(at: instant(2_998))
        #expect(size.limit == 4_096)
    }

    @Test("TW4 Without a size of their own, all records are large")
    func large() {
        var size = RecordSize()
        size.begin(at: instant(0))
        #expect(size.limit == 16_384)
    }
}
