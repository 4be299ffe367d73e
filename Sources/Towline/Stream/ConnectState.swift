/// A connect under way: where to, from where, and which attempts run.
///
/// Kept by its socket from the call until the connection is there or given up.
final class ConnectState {
    /// What the call has named.
    enum Target {
        case addresses([SocketAddress])
        /// A name that has to be looked up.
        case name(String)

        /// Whether it names places in the Unix domain alone.
        var isLocal: Bool {
            guard case .addresses(let addresses) = self else { return false }
            return addresses.allSatisfy { $0.addressFamily == nil }
        }
    }

    /// Without the addresses that cannot be used.
    private(set) var target: Target
    /// The port that the call has named; 0 for addresses, which have their own.
    let port: UInt16
    /// The addresses of the interface; `nil`, whichever the kernel chooses.
    let sources: InterfaceSpecifier.SourceAddresses?
    private let localPort: UInt16
    private let disabledFamilies: Set<AddressFamily>

    /// Which address is tried when; `nil` before the addresses are known.
    var race: ConnectRace?

    /// The IDs of attempts that are under way, by the index of their address.
    ///
    /// Empty where there is one address: its attempt has the socket's own ID.
    var attemptIDs: [Int: SocketID] = [:]

    init(
        _ target: Target,
        port: UInt16,
        sources: InterfaceSpecifier.SourceAddresses?,
        localPort: UInt16,
        disabledFamilies: Set<AddressFamily>
    ) {
        self.target = target
        self.port = port
        self.sources = sources
        self.localPort = localPort
        self.disabledFamilies = disabledFamilies
        if case .addresses(let addresses) = target {
            let usable = addresses.filter(canUse).map { $0.scoped(like: sources?.ipv6) }
            self.target = .addresses(usable)
        }
    }

    /// Whether there is an address to try, or may be one behind the name.
    var hasUsableAddress: Bool {
        if case .addresses(let addresses) = target { return !addresses.isEmpty }
        return true
    }

    /// Whether there is one address, so that the attempt needs no slot of its own.
    var isAlone: Bool { race?.addresses.count == 1 }

    /// Whether a connect to the address can be made: its family is enabled, and the interface has
    /// an address of that family.
    func canUse(_ address: SocketAddress) -> Bool {
        guard let family = address.addressFamily else { return true }
        guard !disabledFamilies.contains(family) else { return false }
        guard let sources else { return true }
        return (family == .ipv4 ? sources.ipv4 : sources.ipv6) != nil
    }

    /// The addresses of a lookup's answer that can be used, with our own port.
    func usable(_ addresses: [SocketAddress]) -> [SocketAddress] {
        addresses.filter(canUse).map { $0.withPort(port).scoped(like: sources?.ipv6) }
    }

    /// What a connect to the address is bound to; `nil`, whatever the kernel chooses.
    func source(for address: SocketAddress) -> SocketAddress? {
        let interface: SocketAddress?
        let any: SocketAddress
        switch address {
        case .ipv4:
            interface = sources?.ipv4
            any = .ipv4(.any, port: 0)
        case .ipv6:
            interface = sources?.ipv6
            any = .ipv6(.any, port: 0)
        case .unix:
            return nil
        }
        guard localPort != 0 else { return interface }
        return (interface ?? any).withPort(localPort)
    }
}

/// Sits in the slot of one attempt among several, until it has won or its descriptor is gone.
final class ConnectingAttempt {
    let socket: SocketID
    /// Of its address in the race.
    let index: Int

    init(of socket: SocketID, at index: Int) {
        self.socket = socket
        self.index = index
    }
}
