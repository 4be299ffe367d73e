#define _GNU_SOURCE
#include "CBareTLS.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    pattern_period = 4093,
    piece_limit = 64 * 1024,
    event_limit = 512,
    session_limit = 1024,
    source_address_count = 64,
    wait_milliseconds = 20,
};

static const int64_t second = 1000000000;

struct connection {
    int descriptor;
    SSL *session;
    bool is_open, awaits_room;
    size_t phase;
    uint64_t allowed, sent, received;
};

struct state {
    const struct benchmark_tls_load *load;
    char *failure;
    int epoll;
    SSL_CTX *context;
    struct connection *connections;
    uint64_t started_count, operation_count, outstanding, full_count;
    bool is_finishing, is_measuring;
    // Sessions to be resumed, each once.
    SSL_SESSION *sessions[session_limit];
    int session_count;
    unsigned char pattern[pattern_period + piece_limit];
    unsigned char buffer[piece_limit];
    struct epoll_event events[event_limit];
};

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * second + time.tv_nsec;
}

static int64_t process_time(pid_t process) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return -1;
    return (int64_t)time.tv_sec * second + time.tv_nsec;
}

__attribute__((format(printf, 2, 3)))
static bool fail(struct state *state, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(state->failure, benchmark_tls_failure_size, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_tls(struct state *state, const char *what) {
    unsigned long code = ERR_get_error();
    // Without one it is the kernel that has refused a call, or the peer that has gone.
    if (code == 0)
        return fail(state, "%s: %s", what, errno != 0 ? strerror(errno) : "the server has gone");
    char text[160];
    ERR_error_string_n(code, text, sizeof text);
    return fail(state, "%s: %s", what, text);
}

static const unsigned char *pattern_at(const struct state *state,
                                       const struct connection *connection, uint64_t offset) {
    return state->pattern + (connection->phase + offset) % pattern_period;
}

static bool await_room(struct state *state, struct connection *connection, bool awaits_room) {
    if (connection->awaits_room == awaits_room)
        return true;
    connection->awaits_room = awaits_room;
    struct epoll_event event = {.events = awaits_room ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                .data.ptr = connection};
    if (epoll_ctl(state->epoll, EPOLL_CTL_MOD, connection->descriptor, &event) == 0)
        return true;
    return fail(state, "epoll_ctl: %s", strerror(errno));
}

// MARK: Starting

static int keep_session(SSL *session, SSL_SESSION *ticket) {
    struct state *state = SSL_CTX_get_app_data(SSL_get_SSL_CTX(session));
    if (state->session_count == session_limit)
        return 0;
    state->sessions[state->session_count++] = ticket;
    return 1;
}

static bool start(struct state *state, struct connection *connection) {
    uint64_t number = state->started_count++;
    *connection = (struct connection){.phase = (size_t)(number * 7919 % pattern_period)};
    connection->descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (connection->descriptor < 0)
        return fail(state, "socket: %s", strerror(errno));
    const int on = 1;
    setsockopt(connection->descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET};
    // Each closed connection keeps its port for a minute: one address would run out of them.
    setsockopt(connection->descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    uint32_t host = (uint32_t)(2 + number % source_address_count);
    address.sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xff000000) + host);
    if (bind(connection->descriptor, (struct sockaddr *)&address, sizeof address) != 0)
        return fail(state, "bind: %s", strerror(errno));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(state->load->port);
    if (connect(connection->descriptor, (struct sockaddr *)&address, sizeof address) != 0 &&
        errno != EINPROGRESS)
        return fail(state, "connect: %s", strerror(errno));
    SSL *session = SSL_new(state->context);
    if (session == NULL)
        return fail_tls(state, "SSL_new");
    connection->session = session;
    SSL_set_connect_state(session);
    SSL_set_fd(session, connection->descriptor);
    SSL_set_tlsext_host_name(session, "localhost");
    SSL_set1_host(session, "localhost");
    if (state->load->resumes && state->session_count > 0) {
        SSL_SESSION *ticket = state->sessions[--state->session_count];
        SSL_set_session(session, ticket);
        SSL_SESSION_free(ticket);
    }
    connection->awaits_room = true;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = connection};
    if (epoll_ctl(state->epoll, EPOLL_CTL_ADD, connection->descriptor, &event) == 0)
        return true;
    return fail(state, "epoll_ctl: %s", strerror(errno));
}

static void end(struct connection *connection) {
    if (connection->descriptor < 0)
        return;
    if (connection->is_open)
        SSL_shutdown(connection->session);
    SSL_free(connection->session);
    close(connection->descriptor);
    connection->descriptor = -1;
}

// MARK: Sending and receiving

static bool send_allowed(struct state *state, struct connection *connection) {
    while (connection->sent < connection->allowed) {
        uint64_t left = connection->allowed - connection->sent;
        int count = left < piece_limit ? (int)left : piece_limit;
        const unsigned char *bytes = pattern_at(state, connection, connection->sent);
        ERR_clear_error();
        int written = SSL_write(connection->session, bytes, count);
        if (written <= 0) {
            if (SSL_get_error(connection->session, written) == SSL_ERROR_WANT_WRITE)
                return await_room(state, connection, true);
            return fail_tls(state, "a write failed");
        }
        connection->sent += (uint64_t)written;
    }
    return await_room(state, connection, false);
}

static bool allow(struct state *state, struct connection *connection, uint64_t message_count) {
    uint64_t count = message_count * state->load->message_size;
    connection->allowed += count;
    state->outstanding += count;
    return send_allowed(state, connection);
}

static bool secure(struct state *state, struct connection *connection) {
    ERR_clear_error();
    int result = SSL_do_handshake(connection->session);
    if (result != 1) {
        int reason = SSL_get_error(connection->session, result);
        if (reason == SSL_ERROR_WANT_READ)
            return await_room(state, connection, false);
        if (reason == SSL_ERROR_WANT_WRITE)
            return await_room(state, connection, true);
        return fail_tls(state, "a handshake failed");
    }
    connection->is_open = true;
    if (!SSL_session_reused(connection->session) && state->is_measuring)
        state->full_count++;
    return state->is_finishing || allow(state, connection, (uint64_t)state->load->depth);
}

static bool note(struct state *state, struct connection *connection, size_t count) {
    const unsigned char *expected = pattern_at(state, connection, connection->received);
    if (connection->received + count > connection->sent ||
        memcmp(state->buffer, expected, count) != 0)
        return fail(state, "what came back behind byte %llu of a connection is not what was sent",
                    (unsigned long long)connection->received);
    size_t size = state->load->message_size;
    uint64_t before = connection->received / size;
    connection->received += count;
    state->outstanding -= count;
    uint64_t complete = connection->received / size - before;
    state->operation_count += complete;
    if (complete == 0 || state->load->reconnects)
        return true;
    return state->is_finishing || allow(state, connection, complete);
}

static bool receive(struct state *state, struct connection *connection) {
    for (;;) {
        ERR_clear_error();
        int count = SSL_read(connection->session, state->buffer, piece_limit);
        if (count <= 0) {
            if (SSL_get_error(connection->session, count) == SSL_ERROR_WANT_READ)
                return true;
            return fail_tls(state, "a read failed");
        }
        if (!note(state, connection, (size_t)count))
            return false;
        if (state->load->reconnects && connection->received == state->load->message_size) {
            end(connection);
            return state->is_finishing || start(state, connection);
        }
    }
}

// MARK: Turning

static bool turn(struct state *state) {
    int count = epoll_wait(state->epoll, state->events, event_limit, wait_milliseconds);
    if (count < 0 && errno != EINTR)
        return fail(state, "epoll_wait: %s", strerror(errno));
    for (int index = 0; index < count; index++) {
        struct connection *connection = state->events[index].data.ptr;
        if (!connection->is_open) {
            if (!secure(state, connection))
                return false;
            continue;
        }
        if ((state->events[index].events & EPOLLOUT) && !send_allowed(state, connection))
            return false;
        if ((state->events[index].events & ~(uint32_t)EPOLLOUT) && !receive(state, connection))
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
    for (int index = 0; index < state->load->connection_count; index++) {
        if (!start(state, &state->connections[index]))
            return false;
        // A few at once, or the first would have to wait for the last.
        if (index % 8 == 7 && !turn(state))
            return false;
    }
    return true;
}

static bool measure(struct state *state, struct benchmark_tls_result *result) {
    uint64_t before = state->operation_count;
    state->is_measuring = true;
    int64_t server_time = process_time(state->load->server);
    int64_t begin = now();
    if (!turn_until(state, begin + state->load->duration))
        return false;
    int64_t server_end = process_time(state->load->server);
    result->elapsed = now() - begin;
    result->server_time = server_end - server_time;
    result->operation_count = state->operation_count - before;
    if (server_time < 0 || server_end < 0)
        return fail(state, "the server has gone");
    if (result->operation_count == 0)
        return fail(state, "no message came back in the measured time");
    if (state->load->resumes && state->full_count > 0)
        return fail(state, "%llu handshakes were not resumed",
                    (unsigned long long)state->full_count);
    return true;
}

static bool settle(struct state *state) {
    state->is_finishing = true;
    int64_t deadline = now() + 5 * second;
    while (state->outstanding > 0) {
        if (now() > deadline)
            return fail(state, "%llu bytes had not come back after 5 s more",
                        (unsigned long long)state->outstanding);
        if (!turn(state))
            return false;
    }
    return true;
}

static bool make_context(struct state *state) {
    state->context = SSL_CTX_new(TLS_client_method());
    BIO *bio = BIO_new_mem_buf(state->load->certificate, -1);
    X509 *anchor = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    BIO_free(bio);
    bool is_right = state->context != NULL && anchor != NULL &&
                    X509_STORE_add_cert(SSL_CTX_get_cert_store(state->context), anchor) == 1;
    X509_free(anchor);
    if (!is_right)
        return fail_tls(state, "the certificate");
    SSL_CTX_set_verify(state->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_min_proto_version(state->context, TLS1_3_VERSION);
    SSL_CTX_set_mode(state->context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_app_data(state->context, state);
    if (state->load->resumes) {
        SSL_CTX_set_session_cache_mode(state->context,
                                       SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
        SSL_CTX_sess_set_new_cb(state->context, keep_session);
    }
    return true;
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

bool benchmark_run_tls_load(const struct benchmark_tls_load *load,
                            struct benchmark_tls_result *result) {
    *result = (struct benchmark_tls_result){0};
    size_t count = (size_t)load->connection_count;
    struct state *state = calloc(1, sizeof *state);
    struct connection *connections = calloc(count, sizeof *connections);
    if (state == NULL || connections == NULL) {
        snprintf(result->failure, benchmark_tls_failure_size, "no memory");
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
                    make_context(state) && open_all(state) &&
                    turn_until(state, now() + load->warmup) && measure(state, result) &&
                    settle(state);
    for (size_t index = 0; index < count; index++)
        end(&connections[index]);
    while (state->session_count > 0)
        SSL_SESSION_free(state->sessions[--state->session_count]);
    SSL_CTX_free(state->context);
    if (state->epoll >= 0)
        close(state->epoll);
    free(connections);
    free(state);
    return is_right;
}
