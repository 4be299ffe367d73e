import Glibc
import Testing

@testable import Towline

@Suite("Accept failure") struct AcceptFailureTests {
    @Test("What one connection died of concerns no other (LS1, A7)")
    func ofOneConnection() {
        let numbers = [
            ECONNABORTED, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
            EOPNOTSUPP,
            ENETUNREACH, ECONNRESET, ETIMEDOUT, EPERM, EINTR, EAGAIN,
        ]
        for number in numbers {
            #expect(AcceptFailure(errno: number) == .ofOneConnection, "number \(number)")
        }
    }

    @Test("What has run out may come back (A7)")
    func ofResources() {
        for number in [EMFILE, ENFILE, ENOBUFS, ENOMEM] {
            #expect(AcceptFailure(errno: number) == .ofResources)
        }
    }

    @Test("A listener that is none ends (A7)")
    func ofListener() {
        for number in [EBADF, EINVAL, ENOTSOCK, EFAULT] {
            #expect(AcceptFailure(errno: number) == .ofListener)
        }
    }
}
