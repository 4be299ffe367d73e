#ifndef TOWLINE_CBAREECHO_H
#define TOWLINE_CBAREECHO_H

// What the benchmarks do without Swift: the bare server that is the limit, the load that every
// server gets, and what a process must be told about cores and descriptors.
//
// <features.h> comes first and _GNU_SOURCE is never defined here, so that this module and Glibc
// agree about the types that they share.
#include <features.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// MARK: ProcessSetup.c

// Lists the cores that the calling process may run on, `limit` of them at most; returns how many
// there are in the list. Source: sched_getaffinity(2).
int benchmark_list_cores(int *cores, int limit);

// Keeps the calling process on one core. Returns 0, or the errno. Source: sched_setaffinity(2).
int benchmark_pin_to_core(int core);

// Raises the soft limit of open descriptors to the hard one; returns what it is then.
// Source: getrlimit(2), `RLIMIT_NOFILE`.
int64_t benchmark_raise_descriptor_limit(void);

// Listens on a free port of 127.0.0.1, non-blocking, with accepted sockets that send at once.
// Returns the descriptor and stores the port, or returns the errno, negative.
int benchmark_listen(uint16_t *port);

// Accepts a connection, non-blocking. Returns the descriptor, or the errno, negative.
// Source: accept4(2).
int benchmark_accept(int listener);

// The processor time of another process, all of its threads, in nanoseconds; -1 if it has gone.
// Source: clock_getcpuclockid(3).
int64_t benchmark_process_time(pid_t process);

// MARK: BareEcho.c

// Echoes on every connection of `listener`, which it owns: a level-triggered epoll loop without
// anything around it. Returns the errno, when the loop itself is refused a call.
int benchmark_serve_bare_echo(int listener);

// MARK: Load.c

// What to send, to whom, for how long.
struct benchmark_load {
    // The server's port on 127.0.0.1, and the process whose time is measured.
    uint16_t port;
    pid_t server;
    // How many connections, 1 or more; messages that each has on the way, 1 or more; bytes of a
    // message, 1 or more.
    int connection_count;
    int depth;
    size_t message_size;
    // Whether each message has a connection of its own: connect, one echo, close.
    bool reconnects;
    // Nanoseconds before the measured time begins, and of the measured time.
    int64_t warmup;
    int64_t duration;
};

enum { benchmark_failure_size = 192 };

// What came of it, in the measured time.
struct benchmark_load_result {
    uint64_t operation_count;
    int64_t elapsed;
    int64_t server_time;
    // Why there is no result; empty if there is one.
    char failure[benchmark_failure_size];
};

// Sends a pattern, and compares every byte that comes back. Returns whether all of them were right;
// otherwise `failure` says which was not, or what else went wrong.
bool benchmark_run_load(const struct benchmark_load *load, struct benchmark_load_result *result);

#endif
