#if IDN
    internal import CIDN

    /// Names beyond ASCII in the form in which they are looked up.
    ///
    /// Source: UTS 46, without the transitional treatment of four letters, and with it where a name
    /// has no other form; libidn2.
    enum InternationalName {
        /// Whether names that are not ASCII can be asked for.
        static let isBuilt = true

        /// The name in ASCII, lower-case, its labels as A-labels where they need to be.
        static func ascii(of name: String) throws(HTTPURLError.HostFault) -> [UInt8] {
            // The library would take a NUL for the end.
            guard !name.utf8.contains(0) else { throw .forbiddenCharacter("\0") }
            let first = convert(name, isTransitional: false)
            guard let ascii = first.name ?? convert(name, isTransitional: true).name else {
                throw .invalidInternationalName(reason: first.reason)
            }
            return ascii
        }

        private static func convert(
            _ text: String,
            isTransitional: Bool
        ) -> (name: [UInt8]?, reason: String) {
            var output: UnsafeMutablePointer<CChar>?
            let result = towline_idn_ascii(text, &output, isTransitional ? 1 : 0)
            defer { idn2_free(output) }
            guard towline_idn_is_ok(result) != 0, let output else {
                return (nil, String(cString: idn2_strerror(result)))
            }
            // The library allocated a text that ends with a NUL, and it lives until the deferred
            // call.
            return (String(cString: output).utf8.map(ASCII.lower), "")
        }
    }
#endif
