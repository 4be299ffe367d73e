internal import Towline
internal import TowlineHTTP

/// A lookup service: where it is and how it is asked.
public struct HTTPLookupService: Sendable {
    /// The URL to ask, in which `%s` stands for the name.
    public let template: String

    /// How it is asked.
    public let options: HTTPLookupResolver.Options

    /// The host of its URL.
    let host: String

    private static let placeholder = "%s"

    /// A service.
    ///
    /// - Parameters:
    ///   - template: The URL to ask, in which `%s` stands for the name.
    ///   - options: How it is asked.
    /// - Throws: ``HTTPError/invalidURL(_:reason:)`` for a template that is no URL, has no `%s`, or
    ///   names its host by a name while the options give no address for it.
    public init(
        _ template: String,
        options: HTTPLookupResolver.Options = .init()
    ) throws(HTTPError) {
        let url: HTTPURL
        do throws(HTTPURLError) {
            url = try HTTPURL(Self.filled(template, with: "name"))
        } catch {
            throw .invalidURL(template, reason: error.description)
        }
        let places = template.split(separator: Self.placeholder, omittingEmptySubsequences: false)
        guard places.count > 1 else {
            throw .invalidURL(template, reason: "there is no \(Self.placeholder) for the name")
        }
        guard url.host.isAddress || !options.addresses.isEmpty else {
            throw .invalidURL(template, reason: "the address of \(url.host) is not given")
        }
        self.template = template
        self.options = options
        host = url.host.text
    }

    /// What is asked for a name.
    func url(for name: String) -> String {
        Self.filled(template, with: name)
    }

    /// The template with a name in it, of which all is encoded that may mean something there.
    private static func filled(_ template: String, with name: String) -> String {
        var encoded = ""
        for byte in name.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return template.split(separator: placeholder, omittingEmptySubsequences: false)
            .joined(separator: encoded)
    }
}
