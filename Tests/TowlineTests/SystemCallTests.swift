import Glibc
import Testing

@testable import Towline

@Suite("System call") struct SystemCallTests {
    @Test("A call that signals interrupt is made again until it answers (BK5)")
    func interruptions() {
        var count = 0
        let result = systemCall {
            count += 1
            guard count > 3 else {
                errno = EINTR
                return -1
            }
            return 7
        }
        #expect(result.isSuccess)
        #expect(result.value == 7)
        #expect(count == 4)
    }

    @Test("A call that is refused is made once, and its number is kept (E5)")
    func refusals() {
        var count = 0
        let result = systemCall {
            count += 1
            errno = ECONNRESET
            return -1
        }
        errno = 0
        #expect(count == 1)
        #expect(!result.isSuccess)
        #expect(result.errno == ECONNRESET)
        #expect(!result.wouldBlock)
    }

    @Test("A refusal behind an interruption is the answer (BK5)")
    func refusalBehindInterruption() {
        var numbers = [EAGAIN, EINTR]
        let result = systemCall {
            errno = numbers.removeLast()
            return -1
        }
        #expect(result.errno == EAGAIN)
        #expect(result.wouldBlock)
    }

    @Test("Zero is an answer, and blocks nobody")
    func zero() {
        let result = systemCall { 0 }
        #expect(result.isSuccess)
        #expect(result.value == 0)
        #expect(!result.wouldBlock)
    }

    @Test("A checked call throws its name and number, and gives its value otherwise")
    func checkedCalls() throws {
        #expect(try checkedSystemCall("dup") { 5 } == 5)
        #expect(throws: SystemCallError(call: "bind", errno: EACCES)) {
            try checkedSystemCall("bind") {
                errno = EACCES
                return -1
            }
        }
    }
}
