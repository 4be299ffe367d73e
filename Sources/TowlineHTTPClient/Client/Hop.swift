internal import TowlineHTTP

/// One request of an exchange on its way: the first, one that a redirect leads to, or one that is
/// sent again.
///
/// Shared by whoever has to do with it, and not changed once it is on its way: what follows from it
/// is a ``copy()``.
final class Hop {
    /// What the caller, or the redirect, asks for.
    @exclusivity(unchecked) var request: HTTPRequest
    @exclusivity(unchecked) var url: HTTPURL
    @exclusivity(unchecked) var key: PoolKey

    /// Whether credentials and fields bound to the first origin may still be sent.
    ///
    /// Once lost they stay lost, even if the way leads back.
    let keepsCredentials: Bool

    /// Whether a failure of the connection was answered by sending it again.
    @exclusivity(unchecked) var wasRepeated = false

    /// Whether the server refused to be asked for its consent before the body.
    @exclusivity(unchecked) var skipsContinue = false

    /// What the server was answered that wants to know who asks, and what the proxy.
    @exclusivity(unchecked) var serverAnswer = ChallengeAnswer()
    @exclusivity(unchecked) var proxyAnswer = ChallengeAnswer()

    /// Whether the connection itself is what is asked for.
    @exclusivity(unchecked) var isTunnel = false

    /// Whether it must go over a connection that nobody used before.
    @exclusivity(unchecked) var needsNewConnection = false

    init(request: HTTPRequest, url: HTTPURL, key: PoolKey, keepsCredentials: Bool) {
        self.request = request
        self.url = url
        self.key = key
        self.keepsCredentials = keepsCredentials
    }

    /// One that is like it, to be changed.
    func copy() -> Hop {
        let copy = Hop(request: request, url: url, key: key, keepsCredentials: keepsCredentials)
        copy.wasRepeated = wasRepeated
        copy.skipsContinue = skipsContinue
        copy.serverAnswer = serverAnswer
        copy.proxyAnswer = proxyAnswer
        copy.isTunnel = isTunnel
        copy.needsNewConnection = needsNewConnection
        return copy
    }
}
