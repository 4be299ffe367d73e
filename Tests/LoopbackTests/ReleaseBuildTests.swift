import TestSupport
import Testing
import Towline

#if !DEBUG
    @Suite("Wrong use in a release build") struct ReleaseBuildTests {
        @Test("WK3: a call from another thread is refused, logged, and changes nothing")
        func wrongThread() throws {
            let pair = try Pair()
            var log: [String] = []
            pair.loop.reactor.log = { log.append($0.description) }
            nonisolated(unsafe) let socket = pair.socket
            let errors = try BackgroundWork { () -> [SocketError] in
                var errors: [SocketError] = []
                do throws(SocketError) {
                    try socket.write("x")
                } catch {
                    errors.append(error)
                }
                do throws(SocketError) {
                    try socket.read()
                } catch {
                    errors.append(error)
                }
                socket.disconnect()
                return errors
            }.value()
            #expect(errors == [.wrongThread, .wrongThread])
            #expect(log == [], "the log is the reactor's own, and waits for its thread")
            try pair.loop.turn(times: 2)
            #expect(log.count == 3)
            #expect(log.allSatisfy { $0.hasPrefix("critical call from another thread refused") })
            #expect(pair.heard == [])
            #expect(pair.socket.state == .connected)
            try pair.loop.end()
        }
    }
#endif
