import CLinux
import Glibc
import Testing

@testable import Towline

@Suite("Socket address") struct SocketAddressTests {
    @Test(
        "A text is read, and written back the same",
        arguments: [
            "127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::]:0", "[::1]:80",
            "[2001:db8::1]:65535", "[fe80::1%lo]:80", "[fe80::1%4000000000]:1", "/run/app.sock",
            "/with:80", "@name", "@na/me:1",
        ]
    )
    func textRoundTrip(_ text: String) {
        #expect(SocketAddress(text)?.description == text)
    }

    @Test("A scope is read by name and by number, and written by name")
    func scopes() {
        let index = if_nametoindex("lo")
        let address = SocketAddress("[fe80::1%\(index)]:80")
        #expect(address == .ipv6(IPv6Address("fe80::1")!, port: 80, scopeID: index))
        #expect(address == SocketAddress("[fe80::1%lo]:80"))
        #expect(address?.description == "[fe80::1%lo]:80")
        #expect(address != SocketAddress("[fe80::1]:80"))
    }

    @Test(
        "What is no address is not read",
        arguments: [
            "", ":", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
            "127.0.0.1:+80", "127.0.0.1:80 ", " 127.0.0.1:80", "127.0.0.1:8O", "127.0.0.1\0:80",
            "127.0.0.1:80\0", "localhost:80", "box.test:80", "::1:80", "::1", "[::1]", "[::1]80",
            "[::1]:", "[::1:80", "::1]:80", "[]:80", "[127.0.0.1]:80", "[::1]]:80", "[[::1]]:80",
            "[fe80::1%]:80", "[fe80::1%nosuchinterface]:80", "[fe80::1%0]:80", "[fe80::1%+1]:80",
            "[fe80::1%lo\0x]:80", "[%lo]:80", "[fe80::1%lo%lo]:80", "/a\0b", "run/app.sock",
        ]
    )
    func malformedTexts(_ text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test("A path of 107 bytes is read, one of 108 is not (A9)")
    func longPaths() {
        let longest = "/" + String(repeating: "a", count: 106)
        #expect(SocketAddress(longest)?.description == longest)
        #expect(SocketAddress(longest + "a") == nil)
        let name = "@" + String(repeating: "a", count: 106)
        #expect(SocketAddress(name)?.description == name)
        #expect(SocketAddress(name + "a") == nil)
    }

    @Test("An IP address and a port make an address of its family")
    func parts() {
        let four = SocketAddress(.ipv4(.loopback), port: 80)
        #expect(four == .ipv4(.loopback, port: 80))
        #expect(four.port == 80)
        #expect(four.ipAddress == .ipv4(.loopback))
        let six = SocketAddress(.ipv6(.loopback), port: 81)
        #expect(six == .ipv6(.loopback, port: 81, scopeID: 0))
        #expect(six.port == 81)
        #expect(six.ipAddress == .ipv6(.loopback))
        #expect(SocketAddress.unix(.unnamed).port == nil)
        #expect(SocketAddress.unix(.unnamed).ipAddress == nil)
    }

    @Test("Another port changes nothing else")
    func withPort() {
        let scoped = SocketAddress.ipv6(.loopback, port: 1, scopeID: 7)
        #expect(scoped.withPort(2) == .ipv6(.loopback, port: 2, scopeID: 7))
        #expect(SocketAddress.ipv4(.any, port: 1).withPort(2) == .ipv4(.any, port: 2))
        #expect(SocketAddress.unix(.unnamed).withPort(2) == .unix(.unnamed))
    }

    @Test("The kernel's form gives the same address back")
    func kernelRoundTrip() throws {
        let longest = "/" + String(repeating: "a", count: 106)
        let texts = [
            "127.0.0.1:80", "255.255.255.255:65535", "[::1]:80", "[2001:db8::1]:1",
            "[fe80::1%lo]:443", "/run/app.sock", longest, "@name",
            "@" + String(repeating: "b", count: 106),
        ]
        for text in texts {
            let address = try #require(SocketAddress(text))
            #expect(throughKernelForm(address) == address)
        }
        #expect(throughKernelForm(.unix(.unnamed)) == .unix(.unnamed))
    }

    @Test("The kernel's form has the network's byte order and the length of its family")
    func kernelForm() {
        SocketAddress.ipv4(.loopback, port: 0x1234).withSocketAddress { address, length in
            #expect(length == 16)
            let bytes = UnsafeRawBufferPointer(start: address, count: 8)
            #expect(Array(bytes.dropFirst(2)) == [0x12, 0x34, 127, 0, 0, 1])
        }
        SocketAddress.ipv6(.loopback, port: 0x1234).withSocketAddress { address, length in
            #expect(length == 28)
            let bytes = UnsafeRawBufferPointer(start: address, count: 24)
            #expect(Array(bytes[2..<4]) == [0x12, 0x34])
            #expect(Array(bytes[8..<24]) == [UInt8](repeating: 0, count: 15) + [1])
        }
        SocketAddress("/a")?.withSocketAddress { _, length in
            #expect(length == 2 + 2 + 1, "the terminator included")
        }
        SocketAddress("@a")?.withSocketAddress { _, length in
            #expect(length == 2 + 1 + 1, "an abstract name has none")
        }
    }

    @Test("A peer that is bound to a path of 108 bytes can be told, and connected to")
    func overlongKernelPath() throws {
        // Linux takes a path that fills the field and has no terminator.
        let bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 108)
        let address = SocketAddress.unix(UnixPath(kernelBytes: bytes))
        #expect(address.description.utf8.count == 108)
        address.withSocketAddress { _, length in
            #expect(length == 110)
        }
        #expect(throughKernelForm(address) == address)
    }

    @Test("A family that is none of the three is no address, nor is a length beyond the storage")
    func foreignFamilies() {
        var storage = sockaddr_storage()
        storage.ss_family = sa_family_t(AF_NETLINK)
        #expect(SocketAddress(&storage, length: 12) == nil)
        storage.ss_family = sa_family_t(AF_UNIX)
        #expect(SocketAddress(&storage, length: 0) == .unix(.unnamed))
        #expect(SocketAddress(&storage, length: 2) == .unix(.unnamed))
        #expect(SocketAddress(&storage, length: .max) != nil, "read no further than the type goes")
    }

    private func throughKernelForm(_ address: SocketAddress) -> SocketAddress? {
        var storage = sockaddr_storage()
        let length = address.withSocketAddress { kernelForm, length -> socklen_t in
            withUnsafeMutableBytes(of: &storage) {
                $0.copyMemory(from: UnsafeRawBufferPointer(start: kernelForm, count: Int(length)))
            }
            return length
        }
        return SocketAddress(&storage, length: length)
    }
}
