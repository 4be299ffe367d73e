internal import CBareEcho
internal import CBareTLS

/// OpenSSL driven by hand, which is C.
enum BareTLS {
    static func serve(_ way: benchmark_tls_way, _ description: String) throws(RunFailure) {
        let credentials = try TLSCredentials.inherited()
        var port: UInt16 = 0
        let listener = benchmark_listen(&port)
        guard listener >= 0 else { throw RunFailure("listen", errno: -listener) }
        ServeCommand.announce(port: port, "level-triggered epoll loop, \(description)")
        let error = benchmark_serve_bare_tls(
            listener,
            credentials.certificate,
            credentials.key,
            way
        )
        throw RunFailure("the bare loop", errno: error)
    }
}
