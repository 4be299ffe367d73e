/// Chooses who a client says that it is, when a server asks.
///
/// It is asked once a handshake, when the server is trusted already, and keeps no thread waiting:
/// it replies at once or later, on any thread.
public protocol ClientIdentityChooser: Sendable {
    /// Chooses.
    ///
    /// - Parameters:
    ///   - issuers: Whose certificates the server accepts, such as `O=Test, CN=Test Root`; none
    ///     where it did not say.
    ///   - reply: Takes the identity, or `nil` for none; the first one counts.
    func choose(issuers: [String], reply: @escaping @Sendable (Identity?) -> Void)
}
