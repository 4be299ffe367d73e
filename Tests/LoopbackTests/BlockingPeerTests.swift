import Glibc
import Testing
import TestSupport
import Towline

@Suite("Blocking peers") struct BlockingPeerTests {
    @Test(
        "Two peers exchange bytes and ends",
        arguments: [
            SocketAddress.ipv4(.loopback, port: 0),
            SocketAddress.ipv6(.loopback, port: 0),
            SocketAddress("@towline-peer-\(getpid())")!,
        ]
    )
    func exchange(address: SocketAddress) throws {
        let listener = try BlockingListener(on: address)
        let near = try BlockingPeer(connectingTo: listener.address)
        let far = try listener.accept()
        try near.send("hello")
        #expect(try far.receive(5) == Array("hello".utf8))
        #expect(far.localAddress == listener.address)
        near.finishSending()
        #expect(try far.receiveSome() == [])
        try far.send("bye")
        far.close()
        #expect(try near.receiveUntilEnd() == Array("bye".utf8))
        #expect(throws: EarlyEnd.self) { try near.receive(1) }
    }

    @Test("A reset arrives as ECONNRESET") func reset() throws {
        let listener = try BlockingListener()
        let near = try BlockingPeer(connectingTo: listener.address)
        try listener.accept().reset()
        #expect(throws: SystemCallError(call: "recv", errno: ECONNRESET)) { try near.receiveSome() }
    }

    @Test("A silent peer ends a receive with EAGAIN") func silence() throws {
        let listener = try BlockingListener()
        let near = try BlockingPeer(
            connectingTo: listener.address,
            timeout: .milliseconds(10)
        )
        #expect(throws: SystemCallError(call: "recv", errno: EAGAIN)) { try near.receiveSome() }
    }
}
