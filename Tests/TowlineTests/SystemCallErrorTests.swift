import Glibc
import Testing

@testable import Towline

@Suite("System call error") struct SystemCallErrorTests {
    @Test("The name is the symbol of the number")
    func names() {
        #expect(SystemCallError(call: "connect", errno: ECONNREFUSED).name == "ECONNREFUSED")
        #expect(SystemCallError(call: "bind", errno: EADDRINUSE).name == "EADDRINUSE")
        #expect(SystemCallError(call: "accept", errno: EMFILE).name == "EMFILE")
    }

    @Test("A number that has no symbol is told as such, and ends nothing")
    func unknownNumbers() {
        let error = SystemCallError(call: "connect", errno: 4_095)
        #expect(error.name == "errno 4095")
        #expect(error.reason == "errno 4095")
        #expect(error.description == "connect failed: errno 4095")
    }

    @Test("The reason is a clause and the symbol: `address already in use (EADDRINUSE)`")
    func reasons() {
        let reasons: [CInt: String] = [
            EADDRINUSE: "address already in use (EADDRINUSE)",
            ECONNREFUSED: "connection refused (ECONNREFUSED)",
            ECONNRESET: "connection reset by peer (ECONNRESET)",
            EMFILE: "too many open files (EMFILE)",
            ETIMEDOUT: "connection timed out (ETIMEDOUT)",
            EACCES: "permission denied (EACCES)",
        ]
        for (number, reason) in reasons {
            #expect(SystemCallError(call: "call", errno: number).reason == reason)
        }
    }

    @Test("An acronym at the beginning of the words keeps its capitals")
    func acronyms() {
        let error = SystemCallError(call: "call", errno: EDOTDOT)
        #expect(error.reason == "RFS specific error (EDOTDOT)")
    }

    @Test("Each number of the kernel has words and a symbol, and none is `unknown`")
    func allNumbers() {
        for number in CInt(1)...133 where ![41, 58].contains(number) {
            let error = SystemCallError(call: "call", errno: number)
            #expect(error.name.hasPrefix("E"), "number \(number)")
            #expect(error.reason.hasSuffix(" (\(error.name))"))
            #expect(!error.reason.lowercased().contains("unknown"))
        }
    }

    @Test("The line says what was tried: the call, or what it was made for")
    func descriptions() {
        let error = SystemCallError(call: "bind", errno: EADDRINUSE)
        #expect(error.description == "bind failed: address already in use (EADDRINUSE)")
        let listening = error.during("listen on 0.0.0.0:8080")
        #expect(
            listening.description
                == "listen on 0.0.0.0:8080 failed: address already in use (EADDRINUSE)"
        )
        #expect(listening.call == "bind", "what refused is still told")
        #expect(listening.errno == EADDRINUSE)
        #expect(error.purpose == nil)
    }

    @Test("Two errors are equal exactly if call, number and purpose are")
    func equality() {
        let error = SystemCallError(call: "bind", errno: EADDRINUSE)
        #expect(error == SystemCallError(call: "bind", errno: EADDRINUSE))
        #expect(error != SystemCallError(call: "listen", errno: EADDRINUSE))
        #expect(error != SystemCallError(call: "bind", errno: EACCES))
        #expect(error != error.during("listen on *:1"))
    }
}
