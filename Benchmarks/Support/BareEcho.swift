internal import CBareEcho

/// The bare loop, which is C.
enum BareEcho {
    static func serve() throws(RunFailure) {
        var port: UInt16 = 0
        let listener = benchmark_listen(&port)
        guard listener >= 0 else { throw RunFailure("listen", errno: -listener) }
        ServeCommand.announce(port: port, "level-triggered epoll loop, 64 KiB receive buffer")
        throw RunFailure("the bare loop", errno: benchmark_serve_bare_echo(listener))
    }
}
