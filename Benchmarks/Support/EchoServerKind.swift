/// The servers that an echo is compared on; the raw value is what `serve` is told.
enum EchoServerKind: String, CaseIterable {
    /// A level-triggered epoll loop in C with nothing around it: the limit.
    case bare
    /// A delegate on a reactor's epoll backend, through the public API.
    case towline
    /// Dispatch sources, which a delegate socket on Linux would otherwise stand on.
    case dispatch

    /// The name in a table.
    var title: String {
        switch self {
        case .bare: "bare C epoll"
        case .towline: "Towline"
        case .dispatch: "Dispatch"
        }
    }
}
