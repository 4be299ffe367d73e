internal import Glibc

/// Moments as fields have them, in seconds since 1970.
///
/// Source: RFC 9110 section 5.6.7.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ value: CInt) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
        let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        return "\(days[Int(parts.tm_wday)]), \(date) \(clock) GMT"
    }

    /// Reads such a text, one of RFC 850 or of asctime(3), and dates like `2024-01-31`; `nil` for
    /// what is none.
    static func seconds(_ text: String) -> Int? {
        var date = DateParts()
        for word in text.split(whereSeparator: { " ,-".contains($0) }) {
            guard date.take(word) else { return nil }
        }
        guard let day = date.day, let month = date.month, let year = date.year else { return nil }
        var parts = tm()
        parts.tm_mday = CInt(day)
        parts.tm_mon = CInt(month)
        parts.tm_year = CInt(year - 1900)
        parts.tm_hour = CInt(date.clock.0)
        parts.tm_min = CInt(date.clock.1)
        parts.tm_sec = CInt(date.clock.2)
        return Int(timegm(&parts))
    }

    /// What the words of a date have said so far.
    private struct DateParts {
        var day: Int?
        var month: Int?
        var year: Int?
        var clock = (0, 0, 0)

        /// Whether the word belongs to a date.
        mutating func take(_ word: Substring) -> Bool {
            if word.contains(":") { return takeClock(word) }
            if let number = Int(word) { return takeNumber(number, digits: word.count) }
            let start = word.prefix(3).lowercased()
            if let index = months.firstIndex(where: { $0.lowercased() == start }) {
                month = index
                return true
            }
            return ["gmt", "utc", "z"].contains(word.lowercased())
                || days.contains { $0.lowercased() == start }
        }

        private mutating func takeClock(_ word: Substring) -> Bool {
            let numbers = word.split(separator: ":").map { Int($0) ?? -1 }
            guard (2...3).contains(numbers.count), numbers.allSatisfy({ (0...60).contains($0) })
            else { return false }
            clock = (numbers[0], numbers[1], numbers.count == 3 ? numbers[2] : 0)
            return true
        }

        private mutating func takeNumber(_ number: Int, digits: Int) -> Bool {
            if digits == 8, number > 0 {
                (year, month, day) = (number / 10_000, number / 100 % 100 - 1, number % 100)
            } else if digits == 4, year == nil {
                year = number
            } else if year != nil, month == nil, (1...12).contains(number) {
                month = number - 1
            } else if day == nil, (1...31).contains(number) {
                day = number
            } else if year == nil, digits == 2 {
                year = number < 70 ? 2000 + number : 1900 + number
            } else {
                return false
            }
            return true
        }
    }
}

/// When files were changed.
enum FileTime {
    /// In seconds since 1970; `nil` if there is no such file.
    static func modified(of path: String) -> Int? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Int(status.st_mtim.tv_sec)
    }

    /// Sets it, of a file that is open.
    static func set(_ seconds: Int, of descriptor: CInt) {
        var times = [timespec(tv_sec: seconds, tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0)]
        // Best effort, as the file itself is complete.
        _ = futimens(descriptor, &times)
    }

    /// How many bytes a file has; 0 if there is none.
    static func byteCount(of path: String) -> UInt64 {
        var status = stat()
        guard stat(path, &status) == 0 else { return 0 }
        return UInt64(status.st_size)
    }
}
