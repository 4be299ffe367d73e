public import Towline

extension DisconnectReport {
    /// The report as a line; of what the program itself has thrown, the peer and the words alone.
    public var reason: String {
        guard case .handler(let error) = error, let remoteAddress else { return description }
        return "\(remoteAddress): \(error)"
    }
}
