import Glibc
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

        @Test("WK3: what a listener is set to from another thread is refused, and stays as it was")
        func listenerFromElsewhere() throws {
            let loop = try Loop()
            var log: [String] = []
            loop.reactor.log = { log.append($0.description) }
            // It is this thread's from here on.
            try loop.turn(times: 1)
            let acceptor = Acceptor()
            let listener = StreamListener(reactor: loop.reactor, delegate: acceptor)
            nonisolated(unsafe) let shared = listener
            try BackgroundWork {
                var options = SocketOptions()
                options.sendBufferSize = 4_096
                shared.options = options
                shared.halfClosePolicy = .keepOpen
            }.value()
            #expect(listener.options.sendBufferSize == nil)
            #expect(listener.halfClosePolicy == .finishWrites)
            try loop.turn(times: 2)
            #expect(log.count == 2)
            #expect(log.allSatisfy { $0.hasPrefix("critical call from another thread refused") })
            try listener.listen(on: .ipv4(.loopback, port: 0))
            #expect(listener.localAddress != nil)
            try loop.end()
        }

        @Test("LP11, trap 32: a descriptor closed behind the reactor's back is one critical line")
        func closedBehind() throws {
            let pair = try Pair()
            var log: [String] = []
            pair.loop.reactor.log = { log.append($0.description) }
            var ends: [CInt] = [-1, -1]
            _ = socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends)
            let recorder = Recorder()
            let socket = try StreamSocket(
                reactor: pair.loop.reactor,
                adopting: ends[0],
                delegate: recorder
            )
            _ = close(ends[0])
            try socket.write("x")
            #expect(try pair.turn { recorder.isDisconnected })
            #expect(log.count == 1)
            #expect(log.allSatisfy { $0.hasPrefix("critical descriptor misused") })
            #expect(pair.socket.state == .connected)
            _ = close(ends[1])
            try pair.loop.end()
        }

        @Test("LP11, trap 32: a descriptor that is exchanged ends its socket, loudly")
        func mixedUpDescriptor() throws {
            let pair = try Pair()
            var lines: [LogEvent] = []
            pair.loop.reactor.log = { lines.append($0) }
            var ends: [CInt] = [-1, -1]
            #expect(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
            let far = BlockingPeer(adopting: ends[1])
            let recorder = Recorder()
            let socket = try StreamSocket(
                reactor: pair.loop.reactor,
                adopting: ends[0],
                delegate: recorder
            )
            let stranger = open("/dev/null", O_RDWR | O_CLOEXEC)
            #expect(dup2(stranger, ends[0]) == ends[0])
            close(stranger)
            try socket.write("lost")
            #expect(try pair.turn { recorder.isDisconnected })
            guard case .system(let error) = recorder.reports[0].error else {
                Issue.record("\(recorder.reports[0])")
                return
            }
            #expect(error.name == "ENOTSOCK")
            #expect(lines.map(\.level) == [.critical])
            #expect(pair.socket.state == .connected)
            far.close()
            try pair.loop.end()
        }
    }
#endif
