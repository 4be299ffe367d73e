#ifndef TOWLINE_CBAREHTTP_H
#define TOWLINE_CBAREHTTP_H

// The least that a server and a client of HTTP can do, which is the limit for all others; and
// libcurl, where its headers are, found when the program runs.
#include <features.h>

#include <stdbool.h>
#include <stdint.h>

// Answers every request that arrives in one piece with a fixed response of 13 bytes of body, on
// every connection of `listener`, which it owns. Returns the errno, when the loop is refused a call.
int benchmark_serve_bare_http(int listener);

// What a client did.
struct benchmark_http_result {
    int64_t done;
    int64_t bad;
    // Why it gave up; empty if it did not.
    char failure[192];
};

// Sends `request_count` requests over `connection_count` kept connections to a port of 127.0.0.1,
// one at a time on each, looks at the status and counts the body by its Content-Length.
bool benchmark_run_bare_http(
    uint16_t port, int connection_count, int64_t request_count,
    struct benchmark_http_result *result);

// Whether this program was built with libcurl's headers.
bool benchmark_has_libcurl_headers(void);

// The same by libcurl's multi interface; false also where its library is not found.
bool benchmark_run_libcurl(
    uint16_t port, int connection_count, int64_t request_count,
    struct benchmark_http_result *result);

#endif
