/// One option: its names, and what it does.
struct OptionRow: Sendable {
    /// What an option changes.
    enum Effect: Sendable {
        /// Switched on, and off by `--no-NAME`.
        case flag(any WritableKeyPath<Draft, Bool> & Sendable)
        /// A value that replaces the one before.
        case text(any WritableKeyPath<Draft, String?> & Sendable)
        /// A value behind those before.
        case list(any WritableKeyPath<Draft, [String]> & Sendable)
        /// A number, 0 or more.
        case number(any WritableKeyPath<Draft, Int?> & Sendable)
        /// Bytes, with `k`, `m` or `g` behind them where there are many.
        case size(any WritableKeyPath<Draft, UInt64?> & Sendable)
        /// Seconds, with a fraction.
        case seconds(any WritableKeyPath<Draft, Duration?> & Sendable)
        /// Something else, without a value.
        case act(@Sendable (inout Draft) throws(UsageError) -> Void)
        /// Something else, with a value.
        case take(@Sendable (inout Draft, String) throws(UsageError) -> Void)
        /// Nothing: what it asks for is so anyway.
        case nothing
        /// Known, and not to be had.
        case unavailable(takesValue: Bool)
    }

    let name: String
    let short: Character?
    let effect: Effect

    init(_ name: String, _ short: Character? = nil, _ effect: Effect) {
        self.name = name
        self.short = short
        self.effect = effect
    }

    /// Whether it can be had.
    var isThere: Bool {
        if case .unavailable = effect { false } else { true }
    }

    var takesValue: Bool {
        switch effect {
        case .flag, .act, .nothing: false
        case .unavailable(let takesValue): takesValue
        case .text, .list, .number, .size, .seconds, .take: true
        }
    }

    /// Does what the option says.
    func apply(_ value: String, to draft: inout Draft) throws(UsageError) {
        switch effect {
        case .flag(let path): draft[keyPath: path] = true
        case .text(let path): draft[keyPath: path] = value
        case .list(let path): draft[keyPath: path].append(value)
        case .number(let path): draft[keyPath: path] = try OptionValue.number(value, of: name)
        case .size(let path): draft[keyPath: path] = try OptionValue.size(value, of: name)
        case .seconds(let path): draft[keyPath: path] = try OptionValue.seconds(value, of: name)
        case .act(let body): try body(&draft)
        case .take(let body): try body(&draft, value)
        case .nothing: break
        case .unavailable: throw UsageError("option --\(name): is not supported")
        }
    }
}

/// What the command line has said so far.
struct Draft: Sendable {
    var globals = GlobalSettings()
    /// The groups before this one.
    var earlier: [Settings] = []
    var current = Settings()
    /// Reads what options name; standard input at most once.
    var files = ByteFiles()

    /// Begins a group whose options are as if nothing had been said.
    mutating func next() {
        earlier.append(current)
        current = Settings()
    }

    /// All groups.
    var operations: [Settings] { earlier + [current] }
}

/// A command line that cannot be followed.
struct UsageError: Error, Hashable {
    let message: String
    let code: ExitCode

    init(_ message: String, code: ExitCode = .usage) {
        self.message = message
        self.code = code
    }
}

/// Values of options as what they mean.
enum OptionValue {
    static func number(_ text: String, of name: String) throws(UsageError) -> Int {
        guard let value = Int(text), value >= 0, text.first != "+" else {
            throw UsageError("option --\(name): expected a proper numerical parameter")
        }
        return value
    }

    static func seconds(_ text: String, of name: String) throws(UsageError) -> Duration {
        guard let value = Double(text), value >= 0, value < 9e9 else {
            throw UsageError("option --\(name): expected a proper numerical parameter")
        }
        return .seconds(value)
    }

    static func size(_ text: String, of name: String) throws(UsageError) -> UInt64 {
        var digits = Substring(text)
        var factor: UInt64 = 1
        switch text.last?.lowercased() {
        case "b": digits = digits.dropLast()
        case "k": (digits, factor) = (digits.dropLast(), 1024)
        case "m": (digits, factor) = (digits.dropLast(), 1024 * 1024)
        case "g": (digits, factor) = (digits.dropLast(), 1024 * 1024 * 1024)
        default: break
        }
        guard let value = UInt64(digits), digits.first != "+" else {
            throw UsageError("option --\(name): expected a proper numerical parameter")
        }
        let (product, overflows) = value.multipliedReportingOverflow(by: factor)
        guard !overflows, product <= UInt64(Int64.max) else {
            throw UsageError("option --\(name): a too large number was specified")
        }
        return product
    }
}
