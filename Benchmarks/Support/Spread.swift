/// A figure that was measured several times: its middle, and how far it went.
struct Spread {
    let median: Double
    let minimum: Double
    let maximum: Double

    /// - Parameter values: 1 or more.
    init(_ values: [Double]) {
        let sorted = values.sorted()
        guard let first = sorted.first, let last = sorted.last else {
            preconditionFailure("a spread needs a value")
        }
        let middle = sorted.count / 2
        let isOdd = sorted.count % 2 == 1
        median = isOdd ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
        minimum = first
        maximum = last
    }

    /// The median, and minimum and maximum in parentheses.
    func text(_ format: (Double) -> String) -> String {
        "\(format(median)) (\(format(minimum))–\(format(maximum)))"
    }
}

extension Int {
    /// The number with a comma between thousands.
    var grouped: String {
        let digits = String(magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return self < 0 ? "-" + text : text
    }
}

extension Double {
    /// The number with two digits behind the point.
    var hundredths: String {
        let count = Int((self * 100).rounded())
        let fraction = String(count % 100)
        return "\(count / 100)." + (fraction.count < 2 ? "0" : "") + fraction
    }
}
