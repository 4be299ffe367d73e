import Glibc
import TestSupport
import Testing

@testable import Towline
@testable import TowlineTLS

@Suite("Damage on the way", .timeLimit(.minutes(20))) struct DamageTests {
    /// How many seeds, each for both versions; `TOWLINE_SEEDS` of the environment says otherwise.
    private static let seedCount = number("TOWLINE_SEEDS") ?? 150

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    @Test("TB8, X6: bytes flipped, records lost, doubled and swapped: no crash, no false data")
    func damage() throws {
        let credentials = try Credentials()
        let wish = Self.number("TOWLINE_SEED")
        let seeds = wish.map { $0...$0 } ?? 1...Self.seedCount
        var hurtCount = 0
        for seed in seeds {
            for version in TLSVersion.allCases {
                let run = try DamagedExchange(credentials, version, seed)
                run.go()
                for complaint in run.complaints {
                    Issue.record("TOWLINE_SEED=\(seed) \(version) \(run.kind): \(complaint)")
                }
                hurtCount += run.isHurt ? 1 : 0
            }
        }
        // Some bytes nobody looks at, such as the version in a record's header.
        guard wish == nil else { return }
        #expect(hurtCount > Int(Self.seedCount) * 2 / 3)
    }

    @Test("X6, TB6: each session, context and BIO is freed once, however its connection ended")
    func freed() async {
        await #expect(processExitsWith: .success) {
            let credentials = try Credentials()
            let rounds = max(40, min(DamageTests.number("TOWLINE_SEEDS") ?? 40, 5_000))
            let before = Counts.now
            var warm = Counts.residentPages
            for seed in 1...rounds {
                if seed == rounds / 2 { warm = Counts.residentPages }
                for version in TLSVersion.allCases {
                    try DamagedExchange(credentials, version, seed).go()
                    let pair = try credentials.pair(version) { client, _ in
                        client.serverName = .name("x.test")
                    }
                    pair.run()
                    guard pair.client.failure != nil, pair.server.failure != nil else { exit(3) }
                }
            }
            guard Counts.now == before else {
                print("before \(before), now \(Counts.now)")
                exit(4)
            }
            // The address sanitizer keeps what is freed for a while.
            let isWatched = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil
            let growth = Counts.residentPages - warm
            guard isWatched || growth < 512 else {
                print("\(growth) pages more")
                exit(5)
            }
        }
    }

    /// What there is of what has to be given back.
    private struct Counts: Equatable {
        let sessions, contexts, wires, descriptors: Int

        static var now: Counts {
            Counts(
                sessions: TLSSession.liveCount,
                contexts: TLSContext.liveCount,
                wires: BufferBIO.liveCount,
                descriptors: (0..<1_024).count { fcntl($0, F_GETFD) >= 0 }
            )
        }

        static var residentPages: Int {
            let text = (try? FileContents.read("/proc/self/statm")) ?? []
            return Int(String(decoding: text, as: UTF8.self).split(separator: " ")[1]) ?? 0
        }
    }
}

/// Two ends that send each other numbered records, one flight of which is damaged on its way.
final class DamagedExchange {
    enum Kind: CaseIterable {
        case flip
        case drop
        case double
        case swap
    }

    let kind: Kind
    private(set) var complaints: [String] = []

    /// Whether not all has arrived.
    private(set) var isHurt = false

    private let pair: MemoryPair
    private var numbers: SeededNumbers
    private let victim: Int
    private var flight = 0

    init(_ credentials: Credentials, _ version: TLSVersion, _ seed: UInt64) throws {
        numbers = SeededNumbers(seed: seed)
        kind = Kind.allCases.randomElement(using: &numbers)!
        // Of those of a handshake there are five at most; data follows.
        victim = Int.random(in: 0..<9, using: &numbers)
        pair = try credentials.pair(version)
    }

    func go() {
        let (client, server) = (pair.client, pair.server)
        var sentCounts = [0, 0]
        for _ in 0..<8 {
            for (index, from, to) in [(0, client, server), (1, server, client)] {
                if from.isSecured, from.failure == nil {
                    // Two records, so that there is something to swap.
                    from.send(Self.record(sentCounts[index]))
                    from.send(Self.record(sentCounts[index] + 1))
                    sentCounts[index] += 2
                }
                let bytes = from.outbox
                from.outbox = []
                guard !bytes.isEmpty else { continue }
                to.receive(flight == victim ? damaged(bytes) : bytes)
                flight += 1
            }
        }
        for (name, sent, end) in [("client", 1, client), ("server", 0, server)] {
            let all = (0..<sentCounts[sent]).flatMap { Self.record($0) }
            if !all.starts(with: end.plaintext) { complaints.append("the \(name) has other data") }
            if end.plaintext.count < all.count || !end.isSecured { isHurt = true }
            if !end.isSecured, !end.plaintext.isEmpty {
                complaints.append("the \(name) has data without being secured")
            }
        }
    }

    private static func record(_ number: Int) -> [UInt8] {
        Array("record \(number) ".utf8)
    }

    private func damaged(_ bytes: [UInt8]) -> [UInt8] {
        if kind == .flip {
            var bytes = bytes
            let place = Int.random(in: 0..<bytes.count, using: &numbers)
            bytes[place] ^= UInt8.random(in: 1...255, using: &numbers)
            return bytes
        }
        var records = Records.split(bytes)
        let place = Int.random(in: 0..<records.count, using: &numbers)
        switch kind {
        case .flip: break
        case .drop: records.remove(at: place)
        case .double: records.insert(records[place], at: place)
        case .swap: records.swapAt(place, (place + 1) % records.count)
        }
        return records.flatMap { $0 }
    }
}
