/// The words of a command line, and its options, each a word with a value behind it.
public struct Options {
    /// The words in front of the options.
    public let words: [String]

    private var values: [String: [String]] = [:]
    private var flags: Set<String> = []

    /// Reads what is behind a program's name.
    ///
    /// - Parameters:
    ///   - words: All of it.
    ///   - known: The options that there are, each with a value.
    ///   - flags: Those that have none.
    ///   - first: What the words in front of them are.
    /// - Throws: ``UsageError`` for an option that is not known or has no value, or too few words.
    public init(
        _ words: some Collection<String>,
        known: [String],
        flags: [String] = [],
        first: [String] = []
    ) throws(UsageError) {
        self.words = Array(words.prefix(first.count).prefix { !$0.hasPrefix("--") })
        guard self.words.count == first.count else {
            throw UsageError("\(first.joined(separator: " and ")) come first")
        }
        var words = words.dropFirst(first.count)
        while let option = words.popFirst() {
            if flags.contains(option) {
                self.flags.insert(option)
                continue
            }
            guard known.contains(option) else { throw UsageError("\(option) is not known") }
            guard let value = words.popFirst() else { throw UsageError("\(option) needs a value") }
            values[option, default: []].append(value)
        }
    }

    /// Whether an option was given that has no value.
    public func has(_ flag: String) -> Bool { flags.contains(flag) }

    /// The word of an option, the last one if it was given several times; `nil` if it was not.
    public func text(_ option: String) -> String? { values[option]?.last }

    /// The words of an option that may be given several times, in their order.
    public func texts(_ option: String) -> [String] { values[option] ?? [] }

    /// The parts of an option's word, between commas; none if it was not given.
    public func list(_ option: String) -> [String] {
        (text(option) ?? "").split(separator: ",").map(String.init)
    }

    /// The word in front of the options that is a port, 1 through 65535.
    ///
    /// - Parameter index: Which word.
    /// - Returns: The port.
    /// - Throws: ``UsageError`` for anything else.
    public func port(_ index: Int) throws(UsageError) -> UInt16 {
        guard let port = UInt16(words[index]), port > 0 else {
            throw UsageError("\(words[index]): not a port")
        }
        return port
    }

    /// The value of an option.
    ///
    /// - Parameters:
    ///   - option: The option.
    ///   - read: Makes a value of the word, or `nil` if that is not valid.
    /// - Returns: The value; `nil` if the option was not given.
    /// - Throws: ``UsageError`` if `read` returns `nil`.
    public func value<Value>(
        _ option: String,
        _ read: (String) -> Value?
    ) throws(UsageError) -> Value? {
        guard let word = text(option) else { return nil }
        guard let value = read(word) else { throw UsageError("\(option) \(word): not valid") }
        return value
    }

    /// The value of an option that is a time in seconds, such as 0.5; more than 0.
    ///
    /// - Parameter option: The option.
    /// - Returns: The time; `nil` if the option was not given.
    /// - Throws: ``UsageError`` for anything else.
    public func seconds(_ option: String) throws(UsageError) -> Duration? {
        try value(option) { word in
            // So long, a hundred years, that more would only be a slip of the hand.
            guard let seconds = Double(word), seconds > 0, seconds <= 3e9 else { return nil }
            return .seconds(seconds)
        }
    }
}

/// Words that a program cannot do anything with.
public struct UsageError: Error {
    /// What is wrong with them.
    public let description: String

    /// An error with this text.
    public init(_ description: String) { self.description = description }
}

/// What a program cannot do, in words.
public struct Failure: Error, CustomStringConvertible {
    /// Why.
    public let description: String

    /// An error with this text.
    public init(_ description: String) { self.description = description }
}

/// The end of a program with a code of its own.
public struct ExitCode: Error {
    /// The code.
    public let code: CInt

    /// Why, as a line.
    public let text: String

    /// An end with this code, and this line on standard error.
    public init(_ code: CInt, _ text: String) { (self.code, self.text) = (code, text) }
}
