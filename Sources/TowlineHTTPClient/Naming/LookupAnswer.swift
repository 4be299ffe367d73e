internal import Towline

/// What a lookup service answered.
///
/// In plain text, addresses stand one behind the other with `;`, `,`, blanks or line ends between;
/// a whole number behind an address is a time to live in seconds, of which the smallest counts:
/// `192.0.2.7;2001:db8::7,60`. A text with nothing in it says that the name has no address.
///
/// In JSON it is an object of one of two kinds: `{"ips": ["192.0.2.7"], "ipsv6": [], "ttl": 60}`,
/// where either list may be missing, or that of DNS in JSON: `{"Status": 0, "Answer": [{"type": 1,
/// "TTL": 60, "data": "192.0.2.7"}]}`, of which types 1 and 28 are taken, and status 3 says that
/// nobody has the name. Further members are not heeded.
///
/// Whatever is none of these is no answer. The unspecified addresses are nobody's and are left out.
enum LookupAnswer: Equatable {
    /// These addresses, and how long they hold in seconds.
    case addresses([IPAddress], seconds: Int?)
    /// Nobody has the name.
    case noSuchHost
    /// The service could not say; in words.
    case failure(String)

    /// How long an answer may be, in bytes.
    static let byteLimit = 64 * 1024

    /// How many addresses are taken; what follows is not heeded.
    static let addressLimit = 64

    init(_ bytes: [UInt8]) {
        let first = bytes.first { !Self.isBlank($0) }
        if first == UInt8(ascii: "{") {
            guard let value = JSONValue(bytes) else {
                self = .failure("what it answered is no JSON")
                return
            }
            self = Self.json(value)
        } else {
            self = Self.text(bytes)
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    private static func text(_ bytes: [UInt8]) -> LookupAnswer {
        var list = AddressList()
        let words = bytes.split {
            isBlank($0) || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",")
        }
        for word in words {
            let text = String(decoding: word, as: UTF8.self)
            if word.allSatisfy({ (0x30...0x39).contains($0) }) {
                guard list.hasAny else { return .failure("a number stands before any address") }
                list.note(seconds: Int(text) ?? .max)
            } else if !list.add(text) {
                return .failure("\"\(text.prefix(40))\" is no address")
            }
        }
        return list.answer
    }

    private static func json(_ value: JSONValue) -> LookupAnswer {
        if let status = value["Status"]?.integer {
            switch status {
            case 0: break
            case 3: return .noSuchHost
            default: return .failure("it answered with status \(status)")
            }
            return records(value["Answer"]?.array ?? [])
        }
        if let records = value["Answer"]?.array { return self.records(records) }
        let lists = [value["ips"], value["ipsv6"]].compactMap { $0?.array }
        guard !lists.isEmpty else { return .failure("its JSON has no addresses in it") }
        var list = AddressList()
        for element in lists.joined() {
            guard let text = element.string, list.add(text) else {
                return .failure("its JSON has something else among the addresses")
            }
        }
        if let seconds = value["ttl"]?.integer { list.note(seconds: seconds) }
        return list.answer
    }

    private static func records(_ records: [JSONValue]) -> LookupAnswer {
        var list = AddressList()
        for record in records {
            guard let type = record["type"]?.integer else {
                return .failure("its JSON has a record without a type")
            }
            guard type == 1 || type == 28 else { continue }
            guard let text = record["data"]?.string, list.add(text) else {
                return .failure("its JSON has an address that is none")
            }
            if let seconds = record["TTL"]?.integer { list.note(seconds: seconds) }
        }
        return list.answer
    }
}

/// Addresses, one by one, and the shortest time that was said of them.
private struct AddressList {
    private var addresses: [IPAddress] = []
    private var seconds: Int?
    /// Whether an address came, if only one that is nobody's.
    private(set) var hasAny = false

    /// Adds what is an address; `false` for anything else.
    mutating func add(_ text: String) -> Bool {
        guard text.utf8.count <= 45, let address = IPAddress(text) else { return false }
        hasAny = true
        let isNobodys = address == .ipv4(.any) || address == .ipv6(.any)
        if !isNobodys, addresses.count < LookupAnswer.addressLimit, !addresses.contains(address) {
            addresses.append(address)
        }
        return true
    }

    mutating func note(seconds: Int) {
        let sensible = min(max(seconds, 0), 7 * 86_400)
        self.seconds = self.seconds.map { min($0, sensible) } ?? sensible
    }

    var answer: LookupAnswer { .addresses(addresses, seconds: seconds) }
}
