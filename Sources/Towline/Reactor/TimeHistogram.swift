/// How often a time was how long, in 64 classes: class `n` counts 2 to the power of `n - 1` up to,
/// and without, 2 to the power of `n` nanoseconds.
public struct TimeHistogram: Sendable, Hashable, CustomStringConvertible {
    private var counts: [64 of Int] = .init(repeating: 0)

    init() {}

    /// How many times were counted.
    public var count: Int {
        var sum = 0
        for index in counts.indices { sum += counts[index] }
        return sum
    }

    /// A time that at least this share of the counted ones did not exceed, rounded up to its class.
    ///
    /// - Parameter share: 0 through 1; 0.5 is the median, 1 the longest.
    /// - Returns: Zero if nothing was counted.
    public func percentile(_ share: Double) -> Duration {
        let wanted = (Double(count) * min(max(share, 0), 1)).rounded(.up)
        var sum = 0
        for index in counts.indices {
            sum += counts[index]
            guard sum > 0, Double(sum) >= wanted else { continue }
            return .nanoseconds(Int64(1) << Int64(min(index, 62)))
        }
        return .zero
    }

    /// Count, median, 99 % and longest as one line.
    public var description: String {
        guard count > 0 else { return "none" }
        let parts = [("median", 0.5), ("99 %", 0.99), ("longest", 1)].map { name, share in
            "\(name) below \(percentile(share))"
        }
        return "\(count): \(parts.joined(separator: ", "))"
    }

    mutating func add(_ nanoseconds: Int64) {
        let index = 64 - max(0, nanoseconds).leadingZeroBitCount
        counts[min(index, 63)] &+= 1
    }

    /// Whether the two counted the same.
    public static func == (left: TimeHistogram, right: TimeHistogram) -> Bool {
        left.counts.indices.allSatisfy { left.counts[$0] == right.counts[$0] }
    }

    /// Feeds the counts to the hasher.
    public func hash(into hasher: inout Hasher) {
        for index in counts.indices { hasher.combine(counts[index]) }
    }
}
