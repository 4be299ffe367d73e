internal import Glibc

/// A descriptor with one owner, closed when the owner lets go of it.
///
/// Descriptors of sockets live in a backend's table from the moment they are adopted; this type
/// holds them on the way there, so that no error in between leaks one.
package struct FileDescriptor: ~Copyable {
    package let rawValue: CInt

    /// Takes ownership of `rawValue`.
    package init(owning rawValue: CInt) {
        self.rawValue = rawValue
    }

    deinit {
        _ = Glibc.close(rawValue)
    }

    /// Gives the number away; whoever takes it closes it.
    package consuming func take() -> CInt {
        let number = rawValue
        discard self
        return number
    }
}
