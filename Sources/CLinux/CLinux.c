// Only this file sees the GNU names, to check that what the header declares without them is true.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
_Static_assert(sizeof(struct epoll_event) == 12, "epoll_event is packed on x86-64");
#endif
_Static_assert(sizeof(struct signalfd_siginfo) == 128, "signalfd(2) says 128 bytes");

_Static_assert(EAI_NODATA == -5, "netdb.h says -5");

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

int towline_epoll_wait(int epoll, struct epoll_event *events, int count,
                       const struct timespec *timeout) {
    return (int)syscall(SYS_epoll_pwait2, epoll, events, count, timeout, NULL, (size_t)(_NSIG / 8));
}

ssize_t towline_sendfile(int socket, int file, int64_t offset, size_t count) {
    // There is no flag for it as send(2) has one, and the process's own handler is none of ours.
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    off_t place = offset;
    ssize_t result = sendfile(socket, file, &place, count);
    int number = errno;
    if (result < 0 && number == EPIPE && !sigismember(&pending, SIGPIPE)) {
        const struct timespec none = {0, 0};
        while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = number;
    return result;
}

int towline_unacknowledged(int socket) {
    int count = 0;
    return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : -1;
}
