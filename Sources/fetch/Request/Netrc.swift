internal import Glibc
internal import TowlineHTTP

/// Users and passwords by machine, from a file.
///
/// Source: curl(1), `--netrc`.
enum Netrc {
    /// Who asks that machine.
    struct Entry: Hashable {
        var user = ""
        var password = ""
    }

    /// The entry for a URL's host, from a file, or from the one in the home folder.
    static func entry(for url: String, in path: String?) throws(FetchFailure) -> Entry? {
        let home = getenv("HOME").map { String(cString: $0) } ?? "."
        let file = path ?? home + "/.netrc"
        guard path != nil || FileTime.modified(of: file) != nil else { return nil }
        let bytes: [UInt8]
        do throws(UsageError) {
            bytes = try ByteFiles().read(file)
        } catch {
            throw FetchFailure(.read, error.message)
        }
        do throws(HTTPURLError) {
            let host = try HTTPURL(url).host.text
            return entry(for: host, text: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw FetchFailure(.malformedURL, error.description)
        }
    }

    /// The entry for a machine, else the one that is meant for all others.
    static func entry(for host: String, text: String) -> Entry? {
        var words = text.split(whereSeparator: \.isWhitespace)[...]
        var found: Entry?
        var isWanted = false
        while let word = words.popFirst() {
            switch word {
            case "machine", "default":
                if found != nil { return found }
                isWanted = word == "default" || words.popFirst() == host[...]
                if isWanted { found = Entry() }
            case "login":
                if let value = words.popFirst(), isWanted { found?.user = String(value) }
            case "password":
                if let value = words.popFirst(), isWanted { found?.password = String(value) }
            default: break
            }
        }
        return found
    }
}
