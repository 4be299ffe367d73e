public import Towline

/// The listener's delegate of a server; it says on standard error when accepting has to pause.
public protocol ServerDelegate: StreamListenerDelegate {
    /// The server that it belongs to.
    var server: Server { get }
}

extension ServerDelegate {
    /// Complains.
    public func listener(_ listener: StreamListener, didFailToAccept error: SocketError) {
        server.complain("\(error)")
    }
}
