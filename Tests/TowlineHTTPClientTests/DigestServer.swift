import Towline
import TowlineHTTPClient
import TowlineTLS

/// A server's side of Digest: says what is asked, and looks at answers.
///
/// Source: RFC 7616 section 3.4.
struct DigestServer {
    var realm = "box"
    var nonce = "n1"
    var algorithm: MessageDigest = .md5
    var isSession = false
    let user = "me"
    let password = "secret, \"quoted\""

    var credential: HTTPCredential { .digest(user: user, password: password) }

    private var algorithmName: String {
        (algorithm == .sha256 ? "SHA-256" : "MD5") + (isSession ? "-sess" : "")
    }

    /// The value of `WWW-Authenticate`.
    func challenge(stale: Bool = false) -> String {
        "Digest realm=\"\(realm)\", qop=\"auth-int, auth\", algorithm=\(algorithmName), "
            + "nonce=\"\(nonce)\", opaque=\"o\"\(stale ? ", stale=TRUE" : "")"
    }

    /// How often the nonce was used, if the answer is right.
    func count(_ seen: SimulatedWeb.Seen, field: String = "Authorization") throws -> Int? {
        guard let values = seen.digestValues(of: field), values["username"] == user,
            values["nonce"] == nonce, values["opaque"] == "o", values["qop"] == "auth",
            let client = values["cnonce"], client.utf8.count >= 16, let count = values["nc"],
            let target = values["uri"]
        else { return nil }
        let line = seen.line.split(separator: " ")
        guard line[1] == target else { return nil }
        var secret = try hashed("\(user):\(realm):\(password)")
        if isSession { secret = try hashed("\(secret):\(nonce):\(client)") }
        let request = try hashed("\(line[0]):\(target)")
        let right = try hashed("\(secret):\(nonce):\(count):\(client):auth:\(request)")
        return values["response"] == right ? Int(count, radix: 16) : nil
    }

    private func hashed(_ text: String) throws -> String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = try algorithm.digest(of: Array(text.utf8))
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }
}

extension SimulatedWeb.Seen {
    /// The value of a field.
    func field(_ name: String) -> String? {
        head.split(separator: "\r\n").first {
            $0.lowercased().hasPrefix("\(name.lowercased()):")
        }.map { String($0.dropFirst(name.utf8.count + 1).drop { $0 == " " }) }
    }

    /// What an answer by Digest says.
    fileprivate func digestValues(of name: String) -> [String: String]? {
        guard let value = field(name), value.hasPrefix("Digest ") else { return nil }
        var values: [String: String] = [:]
        for part in value.dropFirst(7).split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard pair.count == 2 else { return nil }
            let name = String(pair[0].drop { $0 == " " })
            values[name] = String(pair[1].filter { $0 != "\"" })
        }
        return values
    }
}
