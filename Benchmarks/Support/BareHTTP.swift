internal import CBareEcho
internal import CBareHTTP

/// The bare HTTP server, which is C.
enum BareHTTP {
    static func serve() throws(RunFailure) {
        var port: UInt16 = 0
        let listener = benchmark_listen(&port)
        guard listener >= 0 else { throw RunFailure("listen", errno: -listener) }
        ServeCommand.announce(port: port, "level-triggered epoll loop, a fixed response")
        throw RunFailure("the bare server", errno: benchmark_serve_bare_http(listener))
    }
}
