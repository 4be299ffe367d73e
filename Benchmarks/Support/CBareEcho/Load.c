#define _GNU_SOURCE
#include "CBareEcho.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The pattern's period is a prime, so that no message size falls into step with it, and a byte that
// is lost, doubled or out of place shows as a wrong one.
enum {
    pattern_period = 65519,
    piece_limit = 256 * 1024,
    event_limit = 512,
    // Fewer than any server's backlog holds.
    connects_at_once = 128,
    source_address_count = 64,
    wait_milliseconds = 20,
};

static const int64_t second = 1000000000;
static const int64_t open_limit = 10 * second;
static const int64_t settle_limit = 5 * second;

// One connection. Counts are bytes since it was made, and `allowed` is how many may be sent so far.
struct connection {
    int descriptor;
    bool is_open;
    bool awaits_room;
    uint64_t allowed;
    uint64_t sent;
    uint64_t received;
    // Where in the pattern the connection began.
    size_t phase;
};

struct state {
    const struct benchmark_load *load;
    char *failure;
    int epoll;
    struct connection *connections;
    uint64_t started_count;
    uint64_t opened_count;
    uint64_t operation_count;
    // Bytes allowed that have not come back.
    uint64_t outstanding;
    // Nothing new is begun any more.
    bool is_finishing;
    unsigned char pattern[pattern_period + piece_limit];
    unsigned char buffer[piece_limit];
    struct epoll_event events[event_limit];
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * second + time.tv_nsec;
}

__attribute__((format(printf, 2, 3)))
static bool fail(struct state *state, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(state->failure, benchmark_failure_size, format, arguments);
    va_end(arguments);
    return false;
}

static void fill_pattern(unsigned char *pattern) {
    uint32_t random = 2463534242;
    for (size_t index = 0; index < pattern_period; index++) {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        pattern[index] = (unsigned char)(random >> 8);
    }
    for (size_t index = 0; index < piece_limit; index++)
        pattern[pattern_period + index] = pattern[index % pattern_period];
}

// The bytes that stand at `offset` of what a connection sends; `piece_limit` of them are there.
static const unsigned char *pattern_at(const struct state *state,
                                       const struct connection *connection, uint64_t offset) {
    return state->pattern + (connection->phase + offset) % pattern_period;
}

// MARK: Sending

static bool watch(struct state *state, struct connection *connection, int operation,
                  uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(state->epoll, operation, connection->descriptor, &event) == 0)
        return true;
    return fail(state, "epoll_ctl: %s", strerror(errno));
}

static bool await_room(struct state *state, struct connection *connection, bool awaits_room) {
    if (connection->awaits_room == awaits_room)
        return true;
    connection->awaits_room = awaits_room;
    return watch(state, connection, EPOLL_CTL_MOD, awaits_room ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static bool send_allowed(struct state *state, struct connection *connection) {
    while (connection->sent < connection->allowed) {
        uint64_t left = connection->allowed - connection->sent;
        size_t count = left < piece_limit ? (size_t)left : piece_limit;
        const unsigned char *bytes = pattern_at(state, connection, connection->sent);
        ssize_t sent = send(connection->descriptor, bytes, count, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EAGAIN)
                return await_room(state, connection, true);
            return fail(state, "a send failed: %s", strerror(errno));
        }
        connection->sent += (uint64_t)sent;
    }
    return await_room(state, connection, false);
}

static bool allow(struct state *state, struct connection *connection, uint64_t message_count) {
    uint64_t count = message_count * state->load->message_size;
    connection->allowed += count;
    state->outstanding += count;
    return send_allowed(state, connection);
}

// MARK: Connecting

static bool start(struct state *state, struct connection *connection) {
    uint64_t number = state->started_count++;
    *connection = (struct connection){.phase = (size_t)(number * 7919 % pattern_period)};
    connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->descriptor < 0)
        return fail(state, "socket: %s", strerror(errno));
    const int on = 1;
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET};
    if (state->load->reconnects) {
        // Each closed connection keeps its port for a minute, so that one address would run out of
        // them; all of 127.0.0.0/8 is ours.
        setsockopt(connection->descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        uint32_t host = (uint32_t)(2 + number % source_address_count);
        address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xff000000) + host);
        if (bind(connection->descriptor, (struct sockaddr *)&address, sizeof address) != 0)
            return fail(state, "bind: %s", strerror(errno));
    }
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(state->load->port);
    if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address) != 0 &&
        errno != EINPROGRESS)
        return fail(state, "connect: %s", strerror(errno));
    connection->awaits_room = true;
    return watch(state, connection, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static bool finish_connecting(struct state *state, struct connection *connection) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0)
        return fail(state, "connect: %s", strerror(error));
    connection->is_open = true;
    state->opened_count++;
    if (state->is_finishing)
        return await_room(state, connection, false);
    return allow(state, connection, (uint64_t)state->load->depth);
}

// MARK: Receiving

// Whether the bytes that came are those that were sent, none more.
static bool check(struct state *state, struct connection *connection, size_t count) {
    uint64_t offset = connection->received;
    if (offset + count > connection->sent)
        return fail(state, "%llu bytes of a connection came back, and only %llu were sent",
                    (unsigned long long)(offset + count), (unsigned long long)connection->sent);
    const unsigned char *expected = pattern_at(state, connection, offset);
    if (memcmp(state->buffer, expected, count) == 0)
        return true;
    size_t index = 0;
    while (state->buffer[index] == expected[index])
        index++;
    return fail(state, "byte %llu of a connection came back as 0x%02x, and was sent as 0x%02x",
                (unsigned long long)(offset + index), state->buffer[index], expected[index]);
}

static bool receive(struct state *state, struct connection *connection) {
    ssize_t count = recv(connection->descriptor, state->buffer, piece_limit, 0);
    if (count < 0)
        return errno == EAGAIN || fail(state, "a receive failed: %s", strerror(errno));
    if (count == 0)
        return fail(state, "the server closed a connection");
    if (!check(state, connection, (size_t)count))
        return false;
    size_t message_size = state->load->message_size;
    uint64_t before = connection->received / message_size;
    connection->received += (uint64_t)count;
    state->outstanding -= (uint64_t)count;
    uint64_t complete = connection->received / message_size - before;
    state->operation_count += complete;
    if (complete == 0)
        return true;
    if (!state->load->reconnects)
        return state->is_finishing || allow(state, connection, complete);
    close(connection->descriptor);
    connection->descriptor = -1;
    return state->is_finishing || start(state, connection);
}

// MARK: Turning

static bool turn(struct state *state) {
    int count = epoll_wait(state->epoll, state->events, event_limit, wait_milliseconds);
    if (count < 0 && errno != EINTR)
        return fail(state, "epoll_wait: %s", strerror(errno));
    for (int index = 0; index < count; index++) {
        struct connection *connection = state->events[index].data.ptr;
        uint32_t events = state->events[index].events;
        if (!connection->is_open) {
            if (!finish_connecting(state, connection))
                return false;
            continue;
        }
        if ((events & EPOLLOUT) && !send_allowed(state, connection))
            return false;
        if ((events & ~(uint32_t)EPOLLOUT) && !receive(state, connection))
            return false;
    }
    return true;
}

static bool turn_until(struct state *state, int64_t deadline) {
    while (now() < deadline) {
        if (!turn(state))
            return false;
    }
    return true;
}

static bool open_all(struct state *state) {
    int64_t deadline = now() + open_limit;
    int count = state->load->connection_count;
    for (int first = 0; first < count; first += connects_at_once) {
        int end = first + connects_at_once < count ? first + connects_at_once : count;
        for (int index = first; index < end; index++) {
            if (!start(state, &state->connections[index]))
                return false;
        }
        while (state->opened_count < (uint64_t)end) {
            if (now() > deadline)
                return fail(state, "only %llu of %d connections were opened within 10 s",
                            (unsigned long long)state->opened_count, count);
            if (!turn(state))
                return false;
        }
    }
    return true;
}

static bool measure(struct state *state, struct benchmark_load_result *result) {
    uint64_t before = state->operation_count;
    int64_t server_time = benchmark_process_time(state->load->server);
    int64_t begin = now();
    if (!turn_until(state, begin + state->load->duration))
        return false;
    int64_t server_end = benchmark_process_time(state->load->server);
    result->elapsed = now() - begin;
    result->server_time = server_end - server_time;
    result->operation_count = state->operation_count - before;
    if (server_time < 0 || server_end < 0)
        return fail(state, "the server has gone");
    if (result->operation_count == 0)
        return fail(state, "no message came back in the measured time");
    return true;
}

// Waits for what is still on the way: a byte that never comes back is as wrong as a false one.
static bool settle(struct state *state) {
    state->is_finishing = true;
    int64_t deadline = now() + settle_limit;
    while (state->outstanding > 0) {
        if (now() > deadline)
            return fail(state, "%llu bytes had not come back after 5 s more",
                        (unsigned long long)state->outstanding);
        if (!turn(state))
            return false;
    }
    return true;
}

bool benchmark_run_load(const struct benchmark_load *load, struct benchmark_load_result *result) {
    *result = (struct benchmark_load_result){0};
    size_t count = (size_t)load->connection_count;
    struct state *state = calloc(1, sizeof *state);
    struct connection *connections = calloc(count, sizeof *connections);
    if (state == NULL || connections == NULL) {
        snprintf(result->failure, benchmark_failure_size, "no memory for %zu connections", count);
        free(connections);
        free(state);
        return false;
    }
    for (size_t index = 0; index < count; index++)
        connections[index].descriptor = -1;
    state->load = load;
    state->failure = result->failure;
    state->connections = connections;
    state->epoll = epoll_create1(EPOLL_CLOEXEC);
    fill_pattern(state->pattern);
    bool is_right = (state->epoll >= 0 || fail(state, "epoll_create1: %s", strerror(errno))) &&
                    open_all(state) && turn_until(state, now() + load->warmup) &&
                    measure(state, result) && settle(state);
    for (size_t index = 0; index < count; index++) {
        if (connections[index].descriptor >= 0)
            close(connections[index].descriptor);
    }
    if (state->epoll >= 0)
        close(state->epoll);
    free(connections);
    free(state);
    return is_right;
}
