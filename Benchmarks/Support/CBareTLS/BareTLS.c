#define _GNU_SOURCE
#include "CBareTLS.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    plain_size = 64 * 1024,
    cipher_size = 128 * 1024,
    receive_size = 64 * 1024,
    event_limit = 512,
    accept_limit = 64,
};

struct connection {
    int descriptor;
    SSL *session;
    BIO *input, *output;
    bool is_secured, awaits_room;
    // Bytes that the kernel would not take: ciphertext with memory BIOs, else plaintext.
    char *held;
    size_t held_offset, held_count;
};

struct server {
    int epoll, listener;
    SSL_CTX *context;
    enum benchmark_tls_way way;
    char plain[plain_size];
    char cipher[cipher_size];
    struct epoll_event events[event_limit];
};

static void await_room(struct server *server, struct connection *connection, bool awaits_room) {
    if (connection->awaits_room == awaits_room)
        return;
    connection->awaits_room = awaits_room;
    struct epoll_event event = {.events = awaits_room ? EPOLLOUT : EPOLLIN,
                                .data.ptr = connection};
    epoll_ctl(server->epoll, EPOLL_CTL_MOD, connection->descriptor, &event);
}

// Says farewell, as the socket's BIO has done by itself when SSL_shutdown returns.
static void send_farewell(struct server *server, struct connection *connection) {
    if (server->way != benchmark_tls_memory || connection->held != NULL)
        return;
    int count = BIO_read(connection->output, server->cipher, cipher_size);
    // Whoever has gone needs none.
    if (count > 0)
        (void)send(connection->descriptor, server->cipher, (size_t)count, MSG_NOSIGNAL);
}

static void end(struct server *server, struct connection *connection) {
    if (connection->is_secured) {
        SSL_shutdown(connection->session);
        send_farewell(server, connection);
    }
    SSL_free(connection->session);
    close(connection->descriptor);
    free(connection->held);
    free(connection);
}

static bool hold(struct connection *connection, const char *bytes, size_t count) {
    connection->held = malloc(count);
    if (connection->held == NULL)
        return false;
    memcpy(connection->held, bytes, count);
    connection->held_offset = 0;
    connection->held_count = count;
    return true;
}

static void let_go(struct connection *connection) {
    free(connection->held);
    connection->held = NULL;
    connection->held_offset = connection->held_count = 0;
}

enum outcome { is_done, has_to_wait, has_failed };

// MARK: Memory BIOs

static enum outcome send_held(struct server *server, struct connection *connection) {
    const char *bytes = connection->held + connection->held_offset;
    size_t left = connection->held_count - connection->held_offset;
    ssize_t sent = send(connection->descriptor, bytes, left, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return has_failed;
    if (sent > 0)
        connection->held_offset += (size_t)sent;
    if (connection->held_offset < connection->held_count) {
        await_room(server, connection, true);
        return has_to_wait;
    }
    let_go(connection);
    return is_done;
}

static enum outcome send_output(struct server *server, struct connection *connection) {
    for (;;) {
        if (connection->held != NULL) {
            enum outcome outcome = send_held(server, connection);
            if (outcome != is_done)
                return outcome;
        }
        int count = BIO_read(connection->output, server->cipher, cipher_size);
        if (count <= 0) {
            await_room(server, connection, false);
            return is_done;
        }
        ssize_t sent = send(connection->descriptor, server->cipher, (size_t)count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return has_failed;
        size_t taken = sent > 0 ? (size_t)sent : 0;
        if (taken < (size_t)count &&
            !hold(connection, server->cipher + taken, (size_t)count - taken))
            return has_failed;
    }
}

static enum outcome echo_input(struct server *server, struct connection *connection) {
    SSL *session = connection->session;
    ERR_clear_error();
    if (!connection->is_secured) {
        int result = SSL_do_handshake(session);
        if (result != 1)
            return SSL_get_error(session, result) == SSL_ERROR_WANT_READ ? is_done : has_failed;
        connection->is_secured = true;
    }
    for (;;) {
        int count = SSL_read(session, server->plain, plain_size);
        if (count <= 0)
            return SSL_get_error(session, count) == SSL_ERROR_WANT_READ ? is_done : has_failed;
        if (SSL_write(session, server->plain, count) != count)
            return has_failed;
    }
}

static enum outcome serve_memory(struct server *server, struct connection *connection) {
    if (connection->awaits_room) {
        enum outcome outcome = send_output(server, connection);
        if (outcome != is_done)
            return outcome;
    }
    ssize_t count = recv(connection->descriptor, server->cipher, receive_size, 0);
    if (count <= 0)
        return count < 0 && errno == EAGAIN ? is_done : has_failed;
    BIO_write(connection->input, server->cipher, (int)count);
    enum outcome outcome = echo_input(server, connection);
    enum outcome sending = send_output(server, connection);
    return outcome == has_failed ? has_failed : sending;
}

// MARK: The socket's BIO

// What a call of the library that did not succeed waits for.
static enum outcome wait_for(struct server *server, struct connection *connection, int result) {
    switch (SSL_get_error(connection->session, result)) {
    case SSL_ERROR_WANT_READ:
        await_room(server, connection, false);
        return has_to_wait;
    case SSL_ERROR_WANT_WRITE:
        await_room(server, connection, true);
        return has_to_wait;
    default:
        return has_failed;
    }
}

static enum outcome write_held(struct server *server, struct connection *connection) {
    while (connection->held != NULL) {
        const char *bytes = connection->held + connection->held_offset;
        int left = (int)(connection->held_count - connection->held_offset);
        int count = SSL_write(connection->session, bytes, left);
        if (count <= 0)
            return wait_for(server, connection, count);
        connection->held_offset += (size_t)count;
        if (connection->held_offset == connection->held_count)
            let_go(connection);
    }
    await_room(server, connection, false);
    return is_done;
}

static enum outcome serve_socket(struct server *server, struct connection *connection) {
    SSL *session = connection->session;
    ERR_clear_error();
    if (!connection->is_secured) {
        int result = SSL_do_handshake(session);
        if (result != 1)
            return wait_for(server, connection, result);
        connection->is_secured = true;
        await_room(server, connection, false);
    }
    enum outcome outcome = write_held(server, connection);
    if (outcome != is_done)
        return outcome;
    for (int round = 0; round < 16; round++) {
        int count = SSL_read(session, server->plain, plain_size);
        if (count <= 0)
            return wait_for(server, connection, count);
        int written = SSL_write(session, server->plain, count);
        if (written < count) {
            int taken = written > 0 ? written : 0;
            if (!hold(connection, server->plain + taken, (size_t)(count - taken)))
                return has_failed;
            return written > 0 ? write_held(server, connection)
                               : wait_for(server, connection, written);
        }
        if (!SSL_has_pending(session))
            return is_done;
    }
    return is_done;
}

// MARK: The loop

static void accept_some(struct server *server) {
    for (int count = 0; count < accept_limit; count++) {
        int descriptor = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (descriptor < 0)
            return;
        struct connection *connection = calloc(1, sizeof *connection);
        SSL *session = SSL_new(server->context);
        if (connection == NULL || session == NULL) {
            free(connection);
            SSL_free(session);
            close(descriptor);
            return;
        }
        connection->descriptor = descriptor;
        connection->session = session;
        SSL_set_accept_state(session);
        if (server->way == benchmark_tls_memory) {
            connection->input = BIO_new(BIO_s_mem());
            connection->output = BIO_new(BIO_s_mem());
            SSL_set_bio(session, connection->input, connection->output);
        } else {
            SSL_set_fd(session, descriptor);
            SSL_set_read_ahead(session, 1);
        }
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
        epoll_ctl(server->epoll, EPOLL_CTL_ADD, descriptor, &event);
    }
}

static SSL_CTX *make_context(const char *certificate, const char *key) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    BIO *certificate_bio = BIO_new_mem_buf(certificate, -1);
    BIO *key_bio = BIO_new_mem_buf(key, -1);
    X509 *leaf = PEM_read_bio_X509(certificate_bio, NULL, NULL, NULL);
    EVP_PKEY *pair = PEM_read_bio_PrivateKey(key_bio, NULL, NULL, NULL);
    const unsigned char name[] = "benchmark";
    bool is_right = context != NULL && leaf != NULL && pair != NULL &&
                    SSL_CTX_use_certificate(context, leaf) == 1 &&
                    SSL_CTX_use_PrivateKey(context, pair) == 1 &&
                    SSL_CTX_set_session_id_context(context, name, sizeof name) == 1;
    X509_free(leaf);
    EVP_PKEY_free(pair);
    BIO_free(certificate_bio);
    BIO_free(key_bio);
    if (!is_right) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    return context;
}

int benchmark_serve_bare_tls(int listener, const char *certificate, const char *key,
                             enum benchmark_tls_way way) {
    static struct server server;
    // The library writes to a socket without asking for silence about a peer that has gone.
    signal(SIGPIPE, SIG_IGN);
    server.listener = listener;
    server.way = way;
    server.context = make_context(certificate, key);
    if (server.context == NULL)
        return EINVAL;
    server.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (server.epoll < 0 || epoll_ctl(server.epoll, EPOLL_CTL_ADD, listener, &event) != 0)
        return errno;
    for (;;) {
        int count = epoll_wait(server.epoll, server.events, event_limit, -1);
        if (count < 0 && errno != EINTR)
            return errno;
        for (int index = 0; index < count; index++) {
            struct connection *connection = server.events[index].data.ptr;
            if (connection == NULL) {
                accept_some(&server);
                continue;
            }
            enum outcome outcome = way == benchmark_tls_memory
                                       ? serve_memory(&server, connection)
                                       : serve_socket(&server, connection);
            if (outcome == has_failed)
                end(&server, connection);
        }
    }
}
