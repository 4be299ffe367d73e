import Testing

@testable import Towline

@Suite("Cipher ledger") struct CipherLedgerTests {
    @Test("TW1 A write is finished when the last byte of its ciphertext is with the kernel")
    func finishing() {
        var ledger = CipherLedger()
        ledger.append(32, carrying: 10)
        ledger.append(122, carrying: 100)
        #expect(ledger.waiting == 154)
        #expect(ledger.acknowledge(31) == 0)
        #expect(ledger.acknowledge(1) == 10)
        #expect(ledger.acknowledge(121) == 0)
        #expect(ledger.acknowledge(1) == 100)
        #expect(ledger.waiting == 0)
    }

    @Test("TW3 Only records whose bytes are all with the kernel count as progress")
    func records() {
        var ledger = CipherLedger()
        for _ in 0..<4 { ledger.append(16 * 1024 + 22, carrying: 16 * 1024) }
        #expect(ledger.acknowledge(40_000) == 2 * 16 * 1024)
        #expect(ledger.acknowledge(65_624 - 40_000) == 2 * 16 * 1024)
    }

    @Test("TB3 Answers are counted apart from writes, and finish none")
    func replies() {
        var ledger = CipherLedger()
        ledger.append(reply: 500)
        ledger.append(reply: 27)
        #expect(ledger.waitingReplies == 527)
        ledger.append(122, carrying: 100)
        ledger.append(reply: 24)
        #expect(ledger.waitingReplies == 551)
        #expect(ledger.acknowledge(527) == 0)
        #expect(ledger.waitingReplies == 24)
        #expect(ledger.acknowledge(122) == 100)
        #expect(ledger.waitingReplies == 24)
        #expect(ledger.acknowledge(24) == 0)
        #expect(ledger.waiting == 0)
        #expect(ledger.waitingReplies == 0)
    }

    @Test("However the kernel cuts it, what is finished adds up")
    func cuts() {
        var generator = SystemRandomNumberGenerator()
        let seed = UInt64.random(in: 0...UInt64.max, using: &generator)
        var state = seed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(bound))
        }
        var ledger = CipherLedger()
        var (asked, finished) = (0, 0)
        for _ in 0..<10_000 {
            let count = next(100) + 1
            if next(4) == 0 {
                ledger.append(reply: count)
            } else {
                asked += count
                ledger.append(count + 22, carrying: count)
            }
            finished += ledger.acknowledge(next(ledger.waiting + 1))
            #expect(finished <= asked, "seed \(seed)")
        }
        finished += ledger.acknowledge(ledger.waiting)
        #expect(finished == asked, "seed \(seed)")
        #expect(ledger.waitingReplies == 0, "seed \(seed)")
    }
}
