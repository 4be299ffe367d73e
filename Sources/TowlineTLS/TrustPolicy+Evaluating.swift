extension TrustPolicy {
    /// Says whether this policy trusts a chain, whoever has the last word in it.
    ///
    /// It uses no connection and no network, and may be called on any thread. The first use of the
    /// system's roots in a process reads them, which takes some 20 ms.
    ///
    /// - Parameters:
    ///   - chain: The peer's own certificate first, then others in any order.
    ///   - name: Whom the certificate has to be made out to; `nil` for anybody.
    ///   - role: What the certificate has to be good for.
    ///   - stapledResponse: The OCSP response that came with the chain, if one did.
    /// - Returns: The chain up to the anchor, or what is wrong.
    ///
    /// Source: RFC 5280, section 6; RFC 9525, section 6; X509_verify_cert(3).
    public func evaluate(
        _ chain: [Certificate],
        for name: PeerName?,
        role: PeerRole,
        stapledResponse: [UInt8]? = nil
    ) -> Result<VerifiedChain, TrustFailure> {
        TrustEvaluator(self).evaluate(chain, for: name, role: role, staple: .known(stapledResponse))
    }
}
