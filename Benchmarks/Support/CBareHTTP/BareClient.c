#define _GNU_SOURCE
#include "CBareHTTP.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { buffer_size = 16 * 1024, event_limit = 512 };

// One connection: what has come of the response under way.
struct connection {
    int descriptor;
    size_t count;
    char bytes[buffer_size];
};

struct client {
    int epoll;
    int64_t started;
    int64_t limit;
    char request[128];
    size_t request_size;
    struct benchmark_http_result *result;
};

static bool fail(struct client *client, const char *what, int number) {
    snprintf(client->result->failure, sizeof client->result->failure, "%s: %s", what,
             number != 0 ? strerror(number) : "unexpected");
    return false;
}

static bool ask(struct client *client, struct connection *connection) {
    if (client->started == client->limit)
        return true;
    client->started++;
    connection->count = 0;
    ssize_t sent =
        send(connection->descriptor, client->request, client->request_size, MSG_NOSIGNAL);
    return sent == (ssize_t)client->request_size || fail(client, "send", errno);
}

static bool open_one(struct client *client, struct connection *connection, uint16_t port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int one = 1;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0 || connect(descriptor, (void *)&address, sizeof address) != 0)
        return fail(client, "connect", errno);
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection->descriptor = descriptor;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(client->epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        return fail(client, "epoll_ctl", errno);
    return ask(client, connection);
}

// The length of a whole response at the beginning of the bytes; 0 while it is not whole.
static size_t response_length(const char *bytes, size_t count) {
    const char *blank = memmem(bytes, count, "\r\n\r\n", 4);
    if (blank == NULL)
        return 0;
    const char *field = strcasestr(bytes, "\r\ncontent-length:");
    if (field == NULL || field > blank)
        return 0;
    size_t body = strtoul(field + 17, NULL, 10);
    size_t whole = (size_t)(blank - bytes) + 4 + body;
    return whole <= count ? whole : 0;
}

static bool hear(struct client *client, struct connection *connection) {
    size_t room = buffer_size - 1 - connection->count;
    ssize_t received =
        recv(connection->descriptor, connection->bytes + connection->count, room, MSG_DONTWAIT);
    if (received <= 0)
        return fail(client, "recv", received == 0 ? ECONNRESET : errno);
    connection->count += (size_t)received;
    connection->bytes[connection->count] = 0;
    if (response_length(connection->bytes, connection->count) == 0)
        return connection->count < buffer_size - 1 || fail(client, "response too large", 0);
    if (memcmp(connection->bytes, "HTTP/1.1 200", 12) != 0)
        client->result->bad++;
    client->result->done++;
    return ask(client, connection);
}

bool benchmark_run_bare_http(
    uint16_t port, int connection_count, int64_t request_count,
    struct benchmark_http_result *result) {
    static struct epoll_event events[event_limit];
    struct client client = {.limit = request_count, .result = result};
    memset(result, 0, sizeof *result);
    client.request_size = (size_t)snprintf(
        client.request, sizeof client.request,
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAccept: */*\r\n\r\n", port);
    client.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *connections = calloc((size_t)connection_count, sizeof *connections);
    if (client.epoll < 0 || connections == NULL)
        return fail(&client, "setup", errno);
    for (int index = 0; index < connection_count; index++)
        if (!open_one(&client, &connections[index], port))
            return false;
    while (result->done < request_count) {
        int count = epoll_wait(client.epoll, events, event_limit, -1);
        if (count < 0 && errno != EINTR)
            return fail(&client, "epoll_wait", errno);
        for (int index = 0; index < count; index++)
            if (!hear(&client, events[index].data.ptr))
                return false;
    }
    for (int index = 0; index < connection_count; index++)
        close(connections[index].descriptor);
    free(connections);
    close(client.epoll);
    return true;
}
