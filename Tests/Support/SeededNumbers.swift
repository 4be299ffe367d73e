internal import Glibc

/// Random numbers that a seed gives again.
///
/// Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators" (2014), SplitMix64.
public struct SeededNumbers: RandomNumberGenerator {
    /// What the numbers follow from.
    public let seed: UInt64

    private var state: UInt64

    /// Numbers from `TOWLINE_SEED` of the environment, or from a seed of chance; prints it.
    public init(for test: String = #function) {
        let wish = getenv("TOWLINE_SEED").flatMap { UInt64(String(cString: $0)) }
        self.init(seed: wish ?? UInt64.random(in: 0..<1 << 32))
        print("\(test): TOWLINE_SEED=\(seed)")
    }

    /// Numbers from a seed.
    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// The next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number of the range.
    public mutating func number(in range: Range<Int>) -> Int {
        Int.random(in: range, using: &self)
    }

    /// So many bytes, each from `alphabet`.
    public mutating func bytes(_ count: Int, of alphabet: ClosedRange<UInt8> = 0...255) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: alphabet, using: &self) }
    }
}
