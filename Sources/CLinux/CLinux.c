// Only this file sees the GNU names, to check that what the header declares without them is true.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <netdb.h>
#include <signal.h>
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
