/// The compiler that the program was built with, as near as the program can tell: a compiler can be
/// asked only whether it is as new as a version, so each release here is a line.
enum CompilerVersion {
    #if compiler(>=6.4)
        static let text = "6.4 or later"
    #elseif compiler(>=6.3.1)
        static let text = "6.3.1 or a later 6.3"
    #elseif compiler(>=6.3)
        static let text = "6.3.0"
    #else
        static let text = "6.2"
    #endif
}
