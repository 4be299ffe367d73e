#define _GNU_SOURCE
#include "CBareHTTP.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { buffer_size = 64 * 1024, event_limit = 512, accept_limit = 64 };

static const char response[] = "HTTP/1.1 200 OK\r\n"
                               "Server: bare\r\n"
                               "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
                               "Content-Type: text/plain\r\n"
                               "Content-Length: 13\r\n"
                               "\r\n"
                               "Hello, World!";

static bool watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

static void accept_some(int epoll, int listener) {
    for (int count = 0; count < accept_limit; count++) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0)
            return;
        if (!watch(epoll, descriptor))
            close(descriptor);
    }
}

static void answer(int descriptor, char *buffer, char *output) {
    ssize_t received = recv(descriptor, buffer, buffer_size, 0);
    if (received <= 0) {
        if (received == 0 || errno != EAGAIN)
            close(descriptor);
        return;
    }
    size_t length = sizeof response - 1;
    size_t count = 0;
    char *place = buffer;
    char *end = buffer + received;
    char *blank;
    while (place < end && count + length <= buffer_size &&
           (blank = memmem(place, (size_t)(end - place), "\r\n\r\n", 4)) != NULL) {
        memcpy(output + count, response, length);
        count += length;
        place = blank + 4;
    }
    if (count > 0 && send(descriptor, output, count, MSG_NOSIGNAL) != (ssize_t)count)
        close(descriptor);
}

int benchmark_serve_bare_http(int listener) {
    static char buffer[buffer_size];
    static char output[buffer_size];
    static struct epoll_event events[event_limit];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0 || !watch(epoll, listener))
        return errno;
    for (;;) {
        int count = epoll_wait(epoll, events, event_limit, -1);
        if (count < 0 && errno != EINTR)
            return errno;
        for (int index = 0; index < count; index++) {
            int descriptor = events[index].data.fd;
            if (descriptor == listener)
                accept_some(epoll, listener);
            else
                answer(descriptor, buffer, output);
        }
    }
}
