#ifndef TOWLINE_CBARETLS_H
#define TOWLINE_CBARETLS_H

// OpenSSL driven by hand: the server that is the limit, in its two usual ways, and the load that
// every server gets.
//
// <features.h> comes first and _GNU_SOURCE is never defined here, so that this module and Glibc
// agree about the types that they share.
#include <features.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: Certificate.c

enum { benchmark_pem_size = 4096 };

// A P-256 key and a certificate of its own for `localhost` and 127.0.0.1, valid for a day, both as
// PEM with a zero byte behind. Returns whether they could be made.
bool benchmark_make_certificate(char certificate[benchmark_pem_size], char key[benchmark_pem_size]);

// MARK: BareTLS.c

// How OpenSSL gets at the bytes.
enum benchmark_tls_way {
    // It reads from and writes to the socket.
    benchmark_tls_socket = 0,
    // A pair of memory BIOs, filled and emptied by the loop.
    benchmark_tls_memory = 1,
};

// Echoes over TLS on every connection of `listener`, which it owns. Returns the errno when the loop
// itself is refused a call, or EINVAL if certificate and key are not accepted.
int benchmark_serve_bare_tls(int listener, const char *certificate, const char *key,
                             enum benchmark_tls_way way);

// MARK: TLSLoad.c

// What to send, to whom, for how long.
struct benchmark_tls_load {
    // The server's port on 127.0.0.1, the process whose time is measured, and the certificate that
    // it has to show, as PEM.
    uint16_t port;
    pid_t server;
    const char *certificate;
    // How many connections, 1 or more; messages that each has on the way, 1 or more; bytes of a
    // message, 1 or more.
    int connection_count;
    int depth;
    size_t message_size;
    // Whether each message has a connection of its own, and whether that resumes an earlier one.
    bool reconnects;
    bool resumes;
    // Nanoseconds before the measured time begins, and of the measured time.
    int64_t warmup;
    int64_t duration;
};

enum { benchmark_tls_failure_size = 256 };

// What came of it, in the measured time.
struct benchmark_tls_result {
    uint64_t operation_count;
    int64_t elapsed;
    int64_t server_time;
    // Why there is no result; empty if there is one.
    char failure[benchmark_tls_failure_size];
};

// Sends a pattern over TLS 1.3, verifies the server, and compares every byte that comes back.
// Returns whether all of them were right; otherwise `failure` says what went wrong.
bool benchmark_run_tls_load(const struct benchmark_tls_load *load,
                            struct benchmark_tls_result *result);

#endif
