#if !PublicSuffixes
    /// What stands in for the list of public suffixes where the trait `PublicSuffixes` is off.
    enum PublicSuffix {
        /// Whether the list is there.
        static let isBuilt = false

        /// Whether anybody can have a name in a domain: supposed of those of one label.
        static func isPublic(_ domain: String) -> Bool { OneLabel.isMatched(by: domain) }
    }
#endif
