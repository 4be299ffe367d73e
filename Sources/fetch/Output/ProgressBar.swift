internal import Towline

/// A line that says how far a transfer is, and is written over as that goes on.
///
/// As curl's `--progress-bar`: marks and a share where the whole is known, else a count of bytes.
struct ProgressBar {
    private static let markCount = 60

    private var total: UInt64?
    private var count: UInt64 = 0
    private var shown = ""
    private var lastShown: MonotonicInstant?

    /// So many bytes were there before, of so many in all.
    mutating func begin(at offset: UInt64, of total: UInt64?) {
        count = offset
        self.total = total.map { $0 + offset }
    }

    /// More bytes are there; shown ten times a second at most.
    mutating func add(_ byteCount: Int, at now: MonotonicInstant) {
        count += UInt64(byteCount)
        show(at: now)
    }

    /// So many bytes are there by now.
    mutating func reach(_ byteCount: UInt64, of total: UInt64?, at now: MonotonicInstant) {
        count = byteCount
        self.total = total
        show(at: now)
    }

    private mutating func show(at now: MonotonicInstant) {
        if let lastShown, now.since(lastShown) < .milliseconds(100) { return }
        lastShown = now
        write()
    }

    private mutating func write() {
        let line = text
        guard line != shown else { return }
        shown = line
        StandardError.write("\r" + line)
    }

    /// The line, for as many bytes as there are.
    var text: String {
        guard let total, total > 0 else { return "\(count) bytes" }
        let share = min(1, Double(count) / Double(total))
        let marks = String(repeating: "#", count: Int(share * Double(Self.markCount)))
        let blanks = String(repeating: " ", count: Self.markCount - marks.count)
        let tenths = Int(share * 1_000)
        return "\(marks)\(blanks) \(tenths / 10).\(tenths % 10)%"
    }

    /// The last state, and the end of the line.
    mutating func end() {
        guard count > 0 || !shown.isEmpty else { return }
        write()
        StandardError.write("\n")
    }
}
