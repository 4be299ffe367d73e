internal import CBareEcho
internal import Dispatch
internal import Glibc

/// An echo on Dispatch sources, all of them on one serial queue: how a delegate socket stands on
/// Linux without a loop of its own.
enum DispatchEcho {
    static func serve() throws(RunFailure) {
        var port: UInt16 = 0
        let listener = benchmark_listen(&port)
        guard listener >= 0 else { throw RunFailure("listen", errno: -listener) }
        let queue = DispatchQueue(label: "echo")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        let source = DispatchSource.makeReadSource(fileDescriptor: listener, queue: queue)
        source.setEventHandler {
            // The source's estimate: the connections that wait.
            for _ in 0..<max(1, source.data) {
                let descriptor = benchmark_accept(listener)
                guard descriptor >= 0 else { return }
                Connection(descriptor, queue, buffer).begin()
            }
        }
        source.activate()
        ServeCommand.announce(
            port: port,
            "read sources on one serial queue, 64 KiB receive buffer"
        )
        dispatchMain()
    }

    /// One connection; its sources' handlers keep it until they are cancelled.
    private final class Connection {
        private let descriptor: CInt
        private let queue: DispatchQueue
        private let buffer: UnsafeMutableRawBufferPointer
        private let readSource: any DispatchSourceRead
        private var writeSource: (any DispatchSourceWrite)?
        private var backlog: [UInt8] = []

        /// `buffer` is shared, since handlers of one serial queue never overlap.
        init(
            _ descriptor: CInt,
            _ queue: DispatchQueue,
            _ buffer: UnsafeMutableRawBufferPointer
        ) {
            self.descriptor = descriptor
            self.queue = queue
            self.buffer = buffer
            readSource = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        }

        func begin() {
            let descriptor = descriptor
            readSource.setEventHandler { self.echo() }
            readSource.setCancelHandler { close(descriptor) }
            readSource.activate()
        }

        private func echo() {
            let received = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            guard received > 0 else {
                if received == 0 || errno != EAGAIN { readSource.cancel() }
                return
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<received])
            guard let sent = sendSome(bytes) else { return }
            if sent < received { keep(UnsafeRawBufferPointer(rebasing: bytes[sent...])) }
        }

        /// How many bytes the kernel took; `nil` if the connection has failed, and ends.
        private func sendSome(_ bytes: UnsafeRawBufferPointer) -> Int? {
            let sent = send(descriptor, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL))
            if sent >= 0 { return sent }
            if errno == EAGAIN { return 0 }
            readSource.cancel()
            return nil
        }

        /// Stops reading until what the kernel would not take has gone.
        private func keep(_ bytes: UnsafeRawBufferPointer) {
            backlog = Array(bytes)
            readSource.suspend()
            let source = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: queue)
            source.setEventHandler { self.sendBacklog() }
            writeSource = source
            source.activate()
        }

        private func sendBacklog() {
            let sent = backlog.withUnsafeBytes { sendSome($0) }
            backlog.removeFirst(sent ?? backlog.count)
            guard backlog.isEmpty else { return }
            writeSource?.cancel()
            writeSource = nil
            // A suspended source is not cancelled until it is resumed.
            readSource.resume()
        }
    }
}
