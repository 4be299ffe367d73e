import Glibc
import Testing

@testable import Towline

@Suite("Interfaces") struct InterfaceSpecifierTests {
    private static let known = [
        InterfaceAddress(name: "lo", address: address("127.0.0.1:0")),
        InterfaceAddress(name: "eth0", address: address("10.0.0.5:0")),
        InterfaceAddress(name: "eth0", address: address("10.0.0.6:0")),
        InterfaceAddress(name: "eth0", address: .ipv6(link, port: 0, scopeID: 7)),
        InterfaceAddress(name: "eth1", address: .ipv6(other, port: 0)),
    ]
    private static let link = IPv6Address(high: 0xFE80_0000_0000_0000, low: 1)
    private static let other = IPv6Address(high: 0x2001_0DB8_0000_0000, low: 1)

    private static func address(_ text: String) -> SocketAddress {
        SocketAddress(text) ?? .unix(.unnamed)
    }

    private func sources(
        _ specifier: InterfaceSpecifier
    ) -> InterfaceSpecifier.SourceAddresses {
        specifier.sourceAddresses(among: Self.known)
    }

    @Test("A4 A name takes the first address of each family, with its scope")
    func named() {
        let found = sources(.named("eth0"))
        #expect(found.ipv4 == Self.address("10.0.0.5:0"))
        #expect(found.ipv6 == .ipv6(Self.link, port: 0, scopeID: 7))
        #expect(sources(.named("eth1")).ipv4 == nil)
        #expect(sources(.named("eth1")).ipv6 == .ipv6(Self.other, port: 0))
        #expect(sources(.named("eth2")).isEmpty)
        #expect(sources(.named("")).isEmpty)
    }

    @Test("A4 An address must be one of the host's, and has the scope of its interface")
    func address() throws {
        let second = try #require(IPAddress("10.0.0.6"))
        #expect(sources(.address(second)) == .init(ipv4: Self.address("10.0.0.6:0")))
        let found = sources(.address(.ipv6(Self.link)))
        #expect(found == .init(ipv6: .ipv6(Self.link, port: 0, scopeID: 7)))
        #expect(sources(.address(try #require(IPAddress("10.0.0.7")))).isEmpty)
        let loopback = try #require(IPAddress("127.9.9.9"))
        #expect(sources(.address(loopback)) == .init(ipv4: Self.address("127.9.9.9:0")))
    }

    @Test("A4 Any and loopback need no look at the host")
    func fixed() {
        let any = InterfaceSpecifier.any.sourceAddresses(among: [])
        #expect(any == .init(ipv4: .ipv4(.any, port: 0), ipv6: .ipv6(.any, port: 0)))
        let loopback = InterfaceSpecifier.loopback.sourceAddresses(among: [])
        #expect(loopback.ipv4 == .ipv4(.loopback, port: 0))
        #expect(loopback.ipv6 == .ipv6(.loopback, port: 0))
    }

    @Test("A4 The host's interfaces are found, entries of other families skipped")
    func real() throws {
        let all = try InterfaceAddress.all()
        #expect(all.contains { $0.name == "lo" && $0.address == .ipv4(.loopback, port: 0) })
        #expect(all.allSatisfy { $0.address.port == 0 && $0.address.ipAddress != nil })
        #expect(try InterfaceSpecifier.named("lo").sourceAddresses().ipv4 != nil)
        #expect(try InterfaceSpecifier.named("nosuch0").sourceAddresses().isEmpty)
    }
}
