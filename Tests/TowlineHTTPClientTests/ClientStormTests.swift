import Glibc
import Testing

@Suite("Storms of exchanges on the simulated network", .timeLimit(.minutes(10)))
struct ClientStormTests {
    /// How many storms; a fifth of `TOWLINE_SEEDS` of the environment, where that is set.
    private static let stormCount = number("TOWLINE_SEEDS").map { max(1, $0 / 5) } ?? 100

    private static func number(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    @Test("Cuts, resets, delays and nonsense: no hang, one end for each, and no body nobody sent")
    func storms() throws {
        let wish = Self.number("TOWLINE_SEED")
        for seed in wish.map({ $0...$0 }) ?? 1...Self.stormCount {
            let complaints = try ClientStorm(seed: seed).run()
            guard !complaints.isEmpty else { continue }
            Issue.record("TOWLINE_SEED=\(seed): \(complaints.prefix(5).joined(separator: "; "))")
        }
    }
}
