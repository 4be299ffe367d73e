#if !IDN
    /// What stands in for international names where the trait `IDN` is off.
    enum InternationalName {
        /// Whether names that are not ASCII can be asked for.
        static let isBuilt = false

        /// Refuses every name.
        static func ascii(of name: String) throws(HTTPURLError.HostFault) -> [UInt8] {
            throw .internationalNamesNotBuilt
        }
    }
#endif
