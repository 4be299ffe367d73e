internal import Glibc

/// Where the programs are that the package builds.
public enum BuiltProduct {
    /// The path of a product.
    ///
    /// - Parameter name: The product's name, such as `echo-server`.
    /// - Returns: The release build of the same build folder if there is one, else the one that was
    ///   built with the tests.
    /// - Throws: ``Missing`` with the places that were looked at.
    public static func path(of name: String) throws -> String {
        let tests = try folderOfThisProgram()
        // The tests lie in a folder for the target and one for the configuration.
        let places = ["\(tests)/../../release/\(name)", "\(tests)/\(name)"]
        guard let place = places.first(where: { access($0, X_OK) == 0 }) else {
            throw Missing(name: name, places: places)
        }
        return place
    }

    /// The path of a program that belongs to the tests, as it was built with them.
    ///
    /// - Parameter name: The name of its target.
    /// - Returns: The path.
    /// - Throws: ``Missing``.
    public static func path(ofTestProgram name: String) throws -> String {
        let place = try "\(folderOfThisProgram())/\(name)"
        guard access(place, X_OK) == 0 else { throw Missing(name: name, places: [place]) }
        return place
    }

    /// A product that has not been built.
    public struct Missing: Error, CustomStringConvertible {
        let name: String
        let places: [String]

        /// The name, the places, and what to do, as one line.
        public var description: String {
            "\(name) is not built: looked for \(places.joined(separator: " and ")); "
                + "`swift build -c release --product \(name)` builds it"
        }
    }

    private static func folderOfThisProgram() throws -> String {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = try check("readlink", readlink("/proc/self/exe", &text, text.count))
        let path = String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return String(path[..<slash])
    }
}
