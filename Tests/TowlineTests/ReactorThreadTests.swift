import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Towline

@Suite("A reactor on a thread of its own") struct ReactorThreadTests {
    @Test("It runs there under its name, answers, and its end can be awaited (AX6, SD1)")
    func lifeOnAThread() async throws {
        var configuration = Reactor.Configuration()
        configuration.name = "a reactor with a long name"
        let reactor = try Reactor(configuration)
        let fired = Mutex(0)
        reactor.schedule(after: .zero) { fired.withLock { $0 += 1 } }
        let handle = try Reactor.start(reactor)
        let name = try await handle.submit { _ in Self.threadName() }
        #expect(name == "a reactor with ")
        #expect(try await handle.submit { $0.figures.timersFired } == 1)
        #expect(fired.withLock { $0 } == 1)
        handle.stop()
        await handle.ended()
        await handle.ended()
        #expect(!handle.execute { _ in })
        await #expect(throws: ReactorError.reactorStopped) { try await handle.submit { _ in } }
    }

    @Test("What a submitted job throws comes out where it is awaited (OB5)")
    func submittedError() async throws {
        let handle = try Reactor.start(Reactor())
        await #expect(throws: SocketError.noDelegate) {
            try await handle.submit { reactor in
                try StreamSocket(reactor: reactor).connect(to: .ipv4(.loopback, port: 1))
            }
        }
        let figures = try await handle.submit { $0.figures }
        #expect(figures.openSockets == 0)
        #expect(figures.jobsRun == 2)
        handle.stop()
        await handle.ended()
    }

    @Test("A job that is accepted in front of the stop is answered, one behind it refused (WK2)")
    func lastJobs() async throws {
        for _ in 0..<200 {
            let handle = try Reactor.start(Reactor())
            async let first = handle.submit { _ in 1 }
            handle.stop()
            do {
                #expect(try await first == 1)
            } catch {
                #expect(error as? ReactorError == .reactorStopped)
            }
            await handle.ended()
            await #expect(throws: ReactorError.reactorStopped) {
                try await handle.submit { _ in }
            }
        }
    }

    @Test("A reactor that has ended, or that a thread has claimed, is not started (AX6)")
    func refusals() throws {
        let ended = try Reactor(.init(), backend: ManualBackend())
        ended.stop()
        try ended.run()
        do throws(ReactorError) {
            _ = try Reactor.start(ended)
            Issue.record("it has ended")
        } catch {
            #expect(error == .reactorStopped)
        }
        let claimed = try Reactor(.init(), backend: ManualBackend())
        try claimed.turn(waitingAtMost: .zero)
        do throws(ReactorError) {
            _ = try Reactor.start(claimed)
            Issue.record("this thread has claimed it")
        } catch {
            #expect(error == .wrongThread)
        }
    }

    @Test("A refused wait ends it, with a line in its log, and nobody waits for ever (SD1)")
    func refusedWait() async throws {
        let backend = ManualBackend()
        backend.failure = SystemCallError(call: "epoll_pwait2", errno: EBADF)
        var configuration = Reactor.Configuration()
        configuration.name = "gateway"
        let reactor = try Reactor(configuration, backend: backend)
        let lines = Mutex<[String]>([])
        reactor.log = { event in lines.withLock { $0.append(event.description) } }
        let handle = try Reactor.start(reactor)
        await handle.ended()
        #expect(lines.withLock { $0.count } == 1)
        #expect(
            lines.withLock { $0[0] }.hasPrefix("critical reactor failed error=reactor failed: ")
        )
        #expect(lines.withLock { $0[0] }.hasSuffix(" reactor=gateway"))
    }

    @Test("It is started from isolated code without harm (AX5)")
    @MainActor
    func startedByMainActor() async throws {
        let handle = try Reactor.start(Reactor())
        #expect(try await handle.submit { _ in 7 } == 7)
        handle.stop()
        await handle.ended()
    }

    private static func threadName() -> String {
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 32)
        guard fgets(&text, CInt(text.count), file) != nil else { return "" }
        let bytes = text.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:))
        return String(decoding: bytes, as: UTF8.self)
    }
}
