internal import Glibc

/// A moment as whole seconds since the beginning of 1970 in UTC, leap seconds not counted.
///
/// Certificates say from when and until when they hold in it. It prints as `2026-01-31` at midnight
/// and as `2026-01-31 12:00:05` at other times, in UTC.
public struct UnixTime: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The seconds since the beginning of 1970, negative before it.
    public let seconds: Int64

    /// The moment so many seconds after the beginning of 1970.
    public init(seconds: Int64) {
        self.seconds = seconds
    }

    /// What the system's clock says now.
    ///
    /// Source: time(2).
    public static var now: UnixTime { UnixTime(seconds: Int64(time(nil))) }

    /// Whether one moment comes before another.
    public static func < (one: UnixTime, other: UnixTime) -> Bool { one.seconds < other.seconds }

    /// The date, and the time where it is not midnight.
    public var description: String {
        secondsOfDay == 0 ? date : "\(date) \(timeOfDay)"
    }

    /// The date alone, such as `2026-01-31`.
    var date: String {
        let (year, month, day) = civilDate
        return "\(year)-\(Self.twoDigits(month))-\(Self.twoDigits(day))"
    }

    private var timeOfDay: String {
        let parts = [secondsOfDay / 3_600, secondsOfDay / 60 % 60, secondsOfDay % 60]
        return parts.map(Self.twoDigits).joined(separator: ":")
    }

    private var secondsOfDay: Int64 { seconds - 86_400 * dayNumber }

    /// The days since the beginning of 1970, rounded down.
    private var dayNumber: Int64 { seconds < 0 ? (seconds + 1) / 86_400 - 1 : seconds / 86_400 }

    /// The date in the Gregorian calendar: years are counted from March, so that the leap day is
    /// the last of its year, in eras of 400 years, which all have as many days.
    private var civilDate: (year: Int64, month: Int64, day: Int64) {
        let days = dayNumber + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let year = yearOfEra + era * 400 + (month < 10 ? 0 : 1)
        return (year, month < 10 ? month + 3 : month - 9, day)
    }

    private static func twoDigits(_ number: Int64) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
