import Glibc
import TestSupport
import Towline

/// A reactor on its thread, a connection on it, and a blocking peer at its other end.
struct AsyncLine {
    let handle: ReactorHandle
    let stream: AsyncStreamSocket
    let peer: BlockingPeer
    private let listener: BlockingListener

    init(buffer: CInt? = nil) async throws {
        handle = try Reactor.start(Reactor())
        // Tasks share as few threads as there are cores with tests that take a while.
        listener = try BlockingListener(bufferByteCount: buffer, timeout: .seconds(60))
        var options = SocketOptions()
        options.sendBufferSize = buffer
        stream = try await AsyncStreamSocket.connect(
            to: listener.address,
            options: options,
            on: handle
        )
        peer = try listener.accept()
    }

    /// Does what blocks on a thread of its own: tasks share as few as there are cores.
    func talk<Value: Sendable>(
        _ body: @escaping @Sendable (BlockingPeer) throws -> Value
    ) async throws -> Value {
        let peer = peer
        var work: BackgroundWork<Void>?
        let value = try await withCheckedThrowingContinuation { continuation in
            work = BackgroundWork { continuation.resume(with: Result { try body(peer) }) }
        }
        try work?.value()
        return value
    }

    func end() async {
        handle.stop()
        await handle.ended()
    }
}
