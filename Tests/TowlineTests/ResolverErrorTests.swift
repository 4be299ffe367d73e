import Glibc
import Testing

@testable import Towline

@Suite("Errors of lookups") struct ResolverErrorTests {
    @Test("What getaddrinfo answers becomes a case, with the symbol in its text")
    func codes() {
        let texts: [(CInt, ResolverError, String)] = [
            (EAI_NONAME, .noSuchHost, "no such host (EAI_NONAME)"),
            (-5, .noAddress, "the host has no address (EAI_NODATA)"),
            (
                EAI_AGAIN, .temporaryFailure,
                "temporary failure in name lookup, try again (EAI_AGAIN)"
            ),
            (EAI_FAIL, .permanentFailure, "the name server refused to answer (EAI_FAIL)"),
            (
                EAI_SYSTEM, .system(SystemCallError(call: "getaddrinfo", errno: ENOENT)),
                "getaddrinfo failed: no such file or directory (ENOENT)"
            ),
            (
                EAI_MEMORY, .other("out of memory (EAI_MEMORY)"), "out of memory (EAI_MEMORY)"
            ),
        ]
        for (code, error, text) in texts {
            #expect(ResolverError(code: code, errno: ENOENT) == error)
            #expect(error.description == text)
        }
        #expect("\(ResolverError(code: EAI_SERVICE, errno: 0))".hasSuffix("(code -8)"))
    }

    @Test("The others say what they are")
    func others() {
        #expect("\(ResolverError.timedOut)" == "name lookup timed out")
        #expect("\(ResolverError.tooManyLookups)" == "too many name lookups wait already")
        #expect("\(ResolverError.other("my own"))" == "my own")
    }
}

@Suite("Hosts that are no names") struct KnownHostTests {
    @Test("C2 Literals and the host itself are known, names are not")
    func literals() throws {
        let link = try #require(IPv6Address("fe80::1"))
        let lo = if_nametoindex("lo")
        #expect(KnownHost.addresses(of: "127.0.0.1", port: 1) == [.ipv4(.loopback, port: 1)])
        for text in ["::1", "[::1]"] {
            #expect(KnownHost.addresses(of: text, port: 2) == [.ipv6(.loopback, port: 2)])
        }
        for text in ["fe80::1%lo", "[fe80::1%lo]"] {
            let scoped = [SocketAddress.ipv6(link, port: 3, scopeID: lo)]
            #expect(KnownHost.addresses(of: text, port: 3) == scoped)
        }
        let both: [SocketAddress] = [.ipv6(.loopback, port: 4), .ipv4(.loopback, port: 4)]
        for text in ["localhost", "LocalHost", "localhost.", "loopback"] {
            #expect(KnownHost.addresses(of: text, port: 4) == both)
        }
        let names = [
            "", "box.test", "localhost.test", "1.2.3", "127.0.0.1:80", "[127.0.0.1]", "/run/a",
            "@abstract", "::1]", "[::1", "fe80::1%nosuch0", "1::2::3",
        ]
        for text in names { #expect(KnownHost.addresses(of: text, port: 5) == nil, "\(text)") }
    }

    @Test("C2, Wish 20 A link-local address without a scope takes that of the interface")
    func scopes() throws {
        let link = try #require(IPv6Address("fe80::1"))
        let bare = SocketAddress.ipv6(link, port: 1)
        let source = SocketAddress.ipv6(try #require(IPv6Address("fe80::2")), port: 0, scopeID: 7)
        #expect(bare.scoped(like: source) == .ipv6(link, port: 1, scopeID: 7))
        #expect(bare.scoped(like: nil) == bare)
        let global = SocketAddress.ipv6(.loopback, port: 1)
        #expect(global.scoped(like: source) == global)
    }
}
