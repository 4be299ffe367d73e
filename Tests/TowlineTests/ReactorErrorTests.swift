import Glibc
import Testing

@testable import Towline

@Suite("Reactor error") struct ReactorErrorTests {
    @Test("Each case is one line that says what was refused and why")
    func descriptions() {
        let report = BackendReport(chosen: nil, refused: ["ring": "kernel too old or filtered"])
        let texts: [ReactorError: String] = [
            .system(SystemCallError(call: "epoll_create1", errno: EMFILE)):
                "reactor failed: epoll_create1 failed: too many open files (EMFILE)",
            .backendRefused(report):
                "reactor refused: no backend; ring: kernel too old or filtered",
            .invalidConfiguration("expectedSockets -1: must be 0 through 1000000"):
                "reactor refused: expectedSockets -1: must be 0 through 1000000",
            .nestedTurn: "turn refused: a turn is running, and this was called from within it",
            .wrongThread: "call refused: the reactor belongs to another thread",
            .reactorStopped: "call refused: the reactor has ended",
        ]
        for (error, text) in texts { #expect(error.description == text) }
    }

    @Test("A report names the backend in use and each refused one with its reason, in order")
    func reports() {
        #expect(BackendReport(chosen: "epoll").description == "backend epoll")
        let report = BackendReport(chosen: "epoll", refused: ["ring": "forbidden", "kqueue": "no"])
        #expect(report.description == "backend epoll; kqueue: no; ring: forbidden")
    }

    @Test("A backend that this build does not have is refused with the reason, and nothing else is")
    func refusedBackends() throws {
        do {
            _ = try Reactor(Reactor.Configuration(backend: .ring))
            Issue.record("a ring was made")
        } catch {
            guard case .backendRefused(let report) = error else {
                Issue.record("refused for another reason: \(error)")
                return
            }
            #expect(report.chosen == nil)
            #expect(report.refused["ring"] != nil)
        }
        let automatic = try Reactor().backendReport
        #expect(automatic.chosen == "epoll")
        #expect(automatic.refused["ring"] != nil, "the reason is kept where one can ask")
        let epoll = try Reactor(Reactor.Configuration(backend: .epoll)).backendReport
        #expect(epoll.refused.isEmpty, "nothing else was asked for")
    }
}
