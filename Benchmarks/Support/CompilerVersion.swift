// A compiler can be asked only whether it is as new as a version: each release here is a line.

#if compiler(>=6.4)
/// The Swift version that this was compiled with, as near as a program can tell.
let compilerVersion = "6.4 or later"
#elseif compiler(>=6.3.1)
/// The Swift version that this was compiled with, as near as a program can tell.
let compilerVersion = "6.3.1 or a later 6.3"
#elseif compiler(>=6.3)
/// The Swift version that this was compiled with, as near as a program can tell.
let compilerVersion = "6.3.0"
#else
/// The Swift version that this was compiled with, as near as a program can tell.
let compilerVersion = "6.2"
#endif
