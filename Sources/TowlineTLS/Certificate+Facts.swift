extension Certificate {
    /// The certificate's title.
    public var description: String { "certificate" }
}
