#ifndef TOWLINE_CLINUX_H
#define TOWLINE_CLINUX_H

// What Linux has and Swift's own Glibc module does not show.
//
// <features.h> comes first and _GNU_SOURCE is never defined here: with it this module and Glibc
// would disagree about `fd_set` and `sockaddr`, and any program that imports both would not build.
// What glibc hides without it is declared under a name of our own, with the symbol as its label.
#include <features.h>

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>

// accept4(2): accepts with SOCK_NONBLOCK and SOCK_CLOEXEC set at once.
int towline_accept4(int descriptor, struct sockaddr_storage *address, socklen_t *length, int flags)
    __asm__("accept4");

// strerrorname_np(3), strerrordesc_np(3): the name and the untranslated words of an errno.
const char *towline_errno_name(int number) __asm__("strerrorname_np");
const char *towline_errno_words(int number) __asm__("strerrordesc_np");

// epoll_pwait2(2) without a signal mask. glibc 2.35 and later have it; the caller falls back on
// ENOSYS and EPERM.
int towline_epoll_wait(int epoll, struct epoll_event *events, int count,
                       const struct timespec *timeout);

// getaddrinfo(3): a name without an address; glibc shows the number to GNU programs only.
static const int towline_eai_nodata = -5;

// sendfile(2) from `offset` on, which leaves the file's own place alone, without the SIGPIPE that
// it would raise for a peer that has gone: it is blocked in this thread for the length of the call.
ssize_t towline_sendfile(int socket, int file, int64_t offset, size_t count);

// ioctl(2) with SIOCOUTQ: what a socket has sent and its peer's kernel has not acknowledged; -1 if
// it cannot be told.
int towline_unacknowledged(int socket);

// pthread_setname_np(3).
int towline_set_thread_name(unsigned long thread, const char *name) __asm__("pthread_setname_np");

// The address of the calling thread's control block: equal exactly for the same living thread.
// One load from the thread register, so cheap enough for a check at every call.
static inline uintptr_t towline_thread(void) {
    return (uintptr_t)__builtin_thread_pointer();
}

// epoll's constants, which arrive in Swift as enums.
static const uint32_t towline_epoll_in = EPOLLIN;
static const uint32_t towline_epoll_out = EPOLLOUT;
static const uint32_t towline_epoll_rdhup = EPOLLRDHUP;
static const uint32_t towline_epoll_err = EPOLLERR;
static const uint32_t towline_epoll_hup = EPOLLHUP;
static const uint32_t towline_epoll_edge = EPOLLET;

#endif
