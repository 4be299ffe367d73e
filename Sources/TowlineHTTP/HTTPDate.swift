/// Dates as HTTP has them, in seconds from the beginning of 1970.
///
/// Source: RFC 9110 section 5.6.7; RFC 6265 section 5.1.1 for reading.
public enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// What a date says, in any of the forms in which servers write it.
    ///
    /// - Parameter text: Such as `Sun, 06 Nov 1994 08:49:37 GMT`. Words that are none of time, day,
    ///   month and year are passed over; the time zone always counts as GMT.
    /// - Returns: Seconds from the beginning of 1970, below 0 for earlier; nil for what is no date
    ///   from 1601 on.
    public static func seconds(of text: some Sequence<UInt8>) -> Int64? {
        var parts = Parts()
        var word: [UInt8] = []
        for byte in text {
            if isDelimiter(byte) {
                parts.take(word)
                word = []
            } else {
                word.append(byte)
            }
        }
        parts.take(word)
        return parts.seconds
    }

    /// A date as it is to be sent.
    ///
    /// - Parameter seconds: Seconds from the beginning of 1970, for a year from 0 through 9999.
    /// - Returns: Such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    public static func text(of seconds: Int64) -> String {
        let days = (seconds - (seconds < 0 ? 86_399 : 0)) / 86_400
        let rest = seconds - days * 86_400
        let (year, month, day) = civil(of: days)
        let weekday = weekdays[Int((days % 7 + 7) % 7)]
        let time = [rest / 3600, rest / 60 % 60, rest % 60].map { padded($0, 2) }
        return "\(weekday), \(padded(day, 2)) \(months[Int(month) - 1]) \(padded(year, 4)) "
            + "\(time.joined(separator: ":")) GMT"
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// What was found of a date so far: the first word of each kind counts.
    private struct Parts {
        var time: (hour: Int64, minute: Int64, second: Int64)?
        var day: Int64?
        var month: Int64?
        var year: Int64?

        mutating func take(_ word: [UInt8]) {
            if time == nil, let found = Parts.time(word) {
                time = found
            } else if day == nil, let found = Parts.number(word, digits: 1...2) {
                day = found
            } else if month == nil, let found = Parts.month(word) {
                month = found
            } else if year == nil, let found = Parts.number(word, digits: 2...4) {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }

        var seconds: Int64? {
            guard let time, let day, let month, let year, year >= 1601,
                time.hour <= 23, time.minute <= 59, time.second <= 59
            else { return nil }
            let days = HTTPDate.days(year, month, day)
            // The thirtieth of February would be another day.
            guard day >= 1, HTTPDate.civil(of: days) == (year, month, day) else { return nil }
            return days * 86_400 + time.hour * 3600 + time.minute * 60 + time.second
        }

        private static func time(
            _ word: [UInt8]
        ) -> (hour: Int64, minute: Int64, second: Int64)? {
            let parts = word.split(
                separator: UInt8(ascii: ":"),
                maxSplits: 2,
                omittingEmptySubsequences: false
            )
            guard parts.count == 3, parts[0].allSatisfy(Grammar.isDigit),
                parts[1].allSatisfy(Grammar.isDigit),
                let hour = number(Array(parts[0]), digits: 1...2),
                let minute = number(Array(parts[1]), digits: 1...2),
                let second = number(Array(parts[2]), digits: 1...2)
            else { return nil }
            return (hour, minute, second)
        }

        /// The digits at the beginning, if they are as many.
        private static func number(_ word: [UInt8], digits: ClosedRange<Int>) -> Int64? {
            let found = word.prefix(while: Grammar.isDigit)
            guard digits.contains(found.count) else { return nil }
            return found.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }

        private static func month(_ word: [UInt8]) -> Int64? {
            let beginning = word.prefix(3).map(ASCII.lower)
            let index = HTTPDate.months.firstIndex {
                $0.utf8.map(ASCII.lower) == beginning
            }
            return index.map { Int64($0 + 1) }
        }
    }

    /// Days from the beginning of 1970 to a day of the Gregorian calendar; years begin with March
    /// here, so that the day that is sometimes there is the last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }

    private static func civil(of days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
