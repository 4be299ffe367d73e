internal import Glibc

/// Whose failure a failed accept is, and so what a listener does about it.
///
/// Source: accept(2), "Error handling": Linux passes pending network errors of the new connection
/// on as errors of the call.
package enum AcceptFailure: Sendable {
    /// Of one connection that is gone: the next may be fine.
    case ofOneConnection
    /// Of the process or the machine, which has run out of something: better later.
    case ofResources
    /// Of the listener itself: never again.
    case ofListener

    /// Sorts an errno of accept(2); one that the page does not name is met with patience, too,
    /// since whatever it means, to try again at once would spin.
    package init(errno number: CInt) {
        switch number {
        case EINTR, EAGAIN, ECONNABORTED, ECONNRESET, EPROTO, EPERM, ENETDOWN, EHOSTDOWN,
            EHOSTUNREACH, ENETUNREACH, ENONET,
            ENOPROTOOPT, EOPNOTSUPP, ETIMEDOUT:
            self = .ofOneConnection
        case EBADF, EINVAL, ENOTSOCK, EFAULT:
            self = .ofListener
        default:
            self = .ofResources
        }
    }
}
