import Testing

@testable import Towline

@Suite("Log event") struct LogEventTests {
    @Test("Levels are seven, from trace to critical, in that order")
    func levels() {
        let levels: [LogEvent.Level] = [
            .trace, .debug, .info, .notice, .warning, .error, .critical,
        ]
        #expect(LogEvent.Level.allCases == levels)
        #expect(levels.sorted() == levels)
        #expect(!(LogEvent.Level.error < .error))
    }

    @Test("The line is level, message and the fields by name")
    func description() {
        #expect(LogEvent(.info, "started").description == "info started")
        let event = LogEvent(.warning, "accept paused", ["retry_ms": "100", "address": "*:1"])
        #expect(event.description == "warning accept paused address=*:1 retry_ms=100")
    }

    @Test("A reactor without a log builds no fields (OB4)")
    func silence() throws {
        let reactor = try Reactor(.init(), backend: ManualBackend())
        var builtCount = 0
        func fields() -> [String: String] {
            builtCount += 1
            return ["a": "b"]
        }
        reactor.note(.info, "silent", fields())
        #expect(builtCount == 0)
        var lines: [String] = []
        reactor.log = { lines.append($0.description) }
        reactor.note(.info, "heard", fields())
        #expect(lines == ["info heard a=b"])
        #expect(builtCount == 1)
    }
}
