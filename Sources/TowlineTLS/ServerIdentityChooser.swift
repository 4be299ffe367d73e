/// Chooses what a server shows, when a client has said whom it wants.
///
/// It is asked once a handshake, and keeps no thread waiting: it replies at once or later, on any
/// thread.
public protocol ServerIdentityChooser: Sendable {
    /// Chooses.
    ///
    /// - Parameters:
    ///   - hello: What the client has said.
    ///   - reply: Takes the choice; the first one counts.
    func choose(for hello: ClientHello, reply: @escaping @Sendable (ServerChoice) -> Void)
}

/// What a client says before anything else.
///
/// Source: RFC 8446, section 4.1.2.
public struct ClientHello: Sendable, Hashable {
    /// The name of whom it wants, in lower case; `nil` if it did not say, or said what is no name.
    public let serverName: String?

    /// What it could speak inside, the most wanted first.
    public let applicationProtocols: [String]

    /// The versions that it speaks, as far as they are known here, the newest first.
    public let versions: [TLSVersion]
}

/// What a server shows to a client.
public enum ServerChoice: Sendable {
    /// This identity; all else as the server's configuration says.
    case identity(Identity)

    /// Another configuration as a whole, with its own trust and client authentication.
    case configuration(TLSConfiguration)

    /// What the server's configuration says.
    case `default`

    /// Nothing: the client is told that its name is not known here.
    case refuse
}

/// Chooses by a table of names.
///
/// A name that stands there counts more than a wildcard for it. A wildcard stands for one label,
/// the first: `*.a.test` for `x.a.test`, and neither for `a.test` nor for `x.y.a.test`.
public struct NamedIdentities: ServerIdentityChooser {
    private let choices: [String: ServerChoice]
    private let otherwise: ServerChoice

    /// - Parameters:
    ///   - choices: What is shown by which name, in any case.
    ///   - otherwise: What is shown by all others, and to those who send no name.
    public init(_ choices: [String: ServerChoice], otherwise: ServerChoice = .default) {
        let pairs = choices.map { ($0.key.lowercased(), $0.value) }
        self.choices = Dictionary(pairs) { first, _ in first }
        self.otherwise = otherwise
    }

    /// Replies at once.
    public func choose(
        for hello: ClientHello,
        reply: @escaping @Sendable (ServerChoice) -> Void
    ) {
        reply(choice(for: hello.serverName))
    }

    private func choice(for name: String?) -> ServerChoice {
        guard let name else { return otherwise }
        if let choice = choices[name] { return choice }
        guard let dot = name.firstIndex(of: ".") else { return otherwise }
        return choices["*" + name[dot...]] ?? otherwise
    }
}

/// A chooser of one closure.
struct ClosureChooser: ServerIdentityChooser {
    let choose: @Sendable (String?) -> Identity?

    func choose(
        for hello: ClientHello,
        reply: @escaping @Sendable (ServerChoice) -> Void
    ) {
        reply(choose(hello.serverName).map(ServerChoice.identity) ?? .default)
    }
}
