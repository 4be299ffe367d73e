#if PublicSuffixes
    internal import CPSL

    /// In which domains anybody can have a name, such as `com` and `co.uk`.
    ///
    /// Source: publicsuffix.org; libpsl, which brings the list along.
    enum PublicSuffix {
        /// Whether the list is there.
        static let isBuilt = true

        /// Whether anybody can have a name in a domain, which is in lower-case ASCII.
        static func isPublic(_ domain: String) -> Bool {
            // The library was built without its list: as without the library.
            guard let list = psl_builtin() else { return OneLabel.isMatched(by: domain) }
            // The list is never changed, and lives as long as the process.
            return psl_is_public_suffix(list, domain) != 0
        }
    }
#endif
