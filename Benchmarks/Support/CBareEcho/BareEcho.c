#define _GNU_SOURCE
#include "CBareEcho.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { buffer_size = 64 * 1024, event_limit = 512, accept_limit = 64 };

// Output that the kernel would not take yet; no bytes while there is none.
struct backlog {
    char *bytes;
    size_t offset;
    size_t count;
};

struct server {
    int epoll;
    int listener;
    // By descriptor.
    struct backlog *backlogs;
    int backlog_count;
    char buffer[buffer_size];
    struct epoll_event events[event_limit];
};

static bool watch(struct server *server, int operation, int descriptor, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = descriptor};
    return epoll_ctl(server->epoll, operation, descriptor, &event) == 0;
}

static bool make_room_for(struct server *server, int descriptor) {
    if (descriptor < server->backlog_count)
        return true;
    int count = descriptor * 2 + 64;
    struct backlog *backlogs = realloc(server->backlogs, (size_t)count * sizeof *backlogs);
    if (backlogs == NULL)
        return false;
    size_t added = (size_t)(count - server->backlog_count);
    memset(backlogs + server->backlog_count, 0, added * sizeof *backlogs);
    server->backlogs = backlogs;
    server->backlog_count = count;
    return true;
}

static void accept_some(struct server *server) {
    for (int count = 0; count < accept_limit; count++) {
        int descriptor = benchmark_accept(server->listener);
        if (descriptor < 0)
            return;
        if (!make_room_for(server, descriptor) ||
            !watch(server, EPOLL_CTL_ADD, descriptor, EPOLLIN))
            close(descriptor);
    }
}

static void end(struct server *server, int descriptor) {
    struct backlog *backlog = &server->backlogs[descriptor];
    free(backlog->bytes);
    *backlog = (struct backlog){0};
    close(descriptor);
}

static void keep(struct server *server, int descriptor, const char *bytes, size_t count) {
    struct backlog *backlog = &server->backlogs[descriptor];
    char *copy = malloc(count);
    if (copy == NULL || !watch(server, EPOLL_CTL_MOD, descriptor, EPOLLOUT)) {
        free(copy);
        end(server, descriptor);
        return;
    }
    memcpy(copy, bytes, count);
    *backlog = (struct backlog){.bytes = copy, .count = count};
}

static void echo(struct server *server, int descriptor) {
    ssize_t received = recv(descriptor, server->buffer, buffer_size, 0);
    if (received <= 0) {
        if (received == 0 || errno != EAGAIN)
            end(server, descriptor);
        return;
    }
    ssize_t sent = send(descriptor, server->buffer, (size_t)received, MSG_NOSIGNAL);
    if (sent == received)
        return;
    if (sent < 0) {
        if (errno != EAGAIN) {
            end(server, descriptor);
            return;
        }
        sent = 0;
    }
    keep(server, descriptor, server->buffer + sent, (size_t)(received - sent));
}

// Nothing is read from a connection until its backlog is gone.
static void send_backlog(struct server *server, int descriptor) {
    struct backlog *backlog = &server->backlogs[descriptor];
    size_t left = backlog->count - backlog->offset;
    ssize_t sent = send(descriptor, backlog->bytes + backlog->offset, left, MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno != EAGAIN)
            end(server, descriptor);
        return;
    }
    backlog->offset += (size_t)sent;
    if (backlog->offset < backlog->count)
        return;
    free(backlog->bytes);
    *backlog = (struct backlog){0};
    if (!watch(server, EPOLL_CTL_MOD, descriptor, EPOLLIN))
        end(server, descriptor);
}

int benchmark_serve_bare_echo(int listener) {
    static struct server server;
    server.listener = listener;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (server.epoll < 0 || !watch(&server, EPOLL_CTL_ADD, listener, EPOLLIN))
        return errno;
    for (;;) {
        int count = epoll_wait(server.epoll, server.events, event_limit, -1);
        if (count < 0 && errno != EINTR)
            return errno;
        for (int index = 0; index < count; index++) {
            int descriptor = server.events[index].data.fd;
            if (descriptor == listener)
                accept_some(&server);
            else if (server.backlogs[descriptor].bytes != NULL)
                send_backlog(&server, descriptor);
            else
                echo(&server, descriptor);
        }
    }
}
