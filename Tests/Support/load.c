// A load client for an echo server: one thread, epoll, and every byte that comes back is checked.
//
//     load pingpong HOST PORT CONNECTIONS BYTES MESSAGES
//     load connect  HOST PORT CONNECTIONS BYTES MESSAGES
//     load hold     HOST PORT CONNECTIONS BYTES
//
// pingpong: each connection sends a message, waits for it to come back, and sends the next one,
// until MESSAGES have come back in all. connect: a connection is closed after each message, and a
// new one made. hold: one message on each connection, then the line "ready"; the connections stay
// open and idle until standard input ends.
//
// It ends with 0, or says what was wrong and ends with 1.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { event_room = 256, wait_milliseconds = 30000 };

struct connection {
    int descriptor;
    // Where its messages begin in the pattern, so that two connections differ.
    size_t phase;
    size_t sent;
    size_t received;
};

static struct sockaddr_storage server;
static socklen_t server_length;
static int set;
static size_t message_size;
static long messages_to_begin;
static long messages_under_way;
static unsigned char *pattern;
static unsigned char *buffer;

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("load: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    exit(1);
}

static long number(const char *text, long least) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == 0 || *end != 0 || value < least) fail("%s: must be %ld or more", text, least);
    return value;
}

static void set_server(const char *host, long port) {
    struct sockaddr_in *four = (struct sockaddr_in *)&server;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&server;
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        server_length = sizeof *four;
    } else if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons((uint16_t)port);
        server_length = sizeof *six;
    } else {
        fail("%s: is no address", host);
    }
}

// Connects, blocking, which on loopback takes no time; all else is non-blocking.
static void open_connection(struct connection *connection) {
    int descriptor = socket(server.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) fail("socket: %s", strerror(errno));
    if (connect(descriptor, (struct sockaddr *)&server, server_length) != 0)
        fail("connect: %s", strerror(errno));
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) != 0)
        fail("epoll_ctl: %s", strerror(errno));
    connection->descriptor = descriptor;
}

// Watches for room only while a message is not wholly sent.
static void watch(struct connection *connection, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(set, EPOLL_CTL_MOD, connection->descriptor, &event) != 0)
        fail("epoll_ctl: %s", strerror(errno));
}

static void send_rest(struct connection *connection, int was_short) {
    while (connection->sent < message_size) {
        ssize_t count = send(connection->descriptor,
                             pattern + connection->phase + connection->sent,
                             message_size - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            if (!was_short) watch(connection, EPOLLIN | EPOLLOUT);
            return;
        }
        if (count < 0) fail("send: %s", strerror(errno));
        connection->sent += (size_t)count;
    }
    if (was_short) watch(connection, EPOLLIN);
}

static void begin_message(struct connection *connection) {
    if (messages_to_begin == 0) return;
    messages_to_begin--;
    messages_under_way++;
    connection->sent = 0;
    connection->received = 0;
    send_rest(connection, 0);
}

// Whether the message is complete now.
static int receive_some(struct connection *connection) {
    ssize_t count = recv(connection->descriptor, buffer, message_size, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return 0;
    if (count < 0) fail("recv: %s", strerror(errno));
    if (count == 0) fail("the server sent its end");
    size_t wanted = connection->sent - connection->received;
    if ((size_t)count > wanted) fail("%zd bytes came back where %zu were sent", count, wanted);
    if (memcmp(buffer, pattern + connection->phase + connection->received, (size_t)count) != 0)
        fail("other bytes came back than were sent");
    connection->received += (size_t)count;
    return connection->received == message_size;
}

static void serve(struct connection *connection, uint32_t events, int reconnects) {
    if (events & EPOLLOUT) send_rest(connection, 1);
    if (!(events & ~(uint32_t)EPOLLOUT) || !receive_some(connection)) return;
    messages_under_way--;
    connection->phase = (connection->phase + 1) % 251;
    if (reconnects) {
        close(connection->descriptor);
        connection->descriptor = -1;
        if (messages_to_begin == 0) return;
        open_connection(connection);
    }
    begin_message(connection);
}

static void run(struct connection *connections, long count, int reconnects) {
    for (long index = 0; index < count; index++) begin_message(&connections[index]);
    while (messages_under_way > 0) {
        struct epoll_event events[event_room];
        int ready = epoll_wait(set, events, event_room, wait_milliseconds);
        if (ready < 0 && errno == EINTR) continue;
        if (ready < 0) fail("epoll_wait: %s", strerror(errno));
        if (ready == 0) fail("nothing came back for %d ms", wait_milliseconds);
        for (int index = 0; index < ready; index++)
            serve(events[index].data.ptr, events[index].events, reconnects);
    }
}

static void wait_for_end_of_input(void) {
    char byte;
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {}
}

int main(int count, char **words) {
    if (count < 6) fail("too few arguments; see the head of load.c");
    const char *mode = words[1];
    int holds = strcmp(mode, "hold") == 0;
    int reconnects = strcmp(mode, "connect") == 0;
    if (!holds && !reconnects && strcmp(mode, "pingpong") != 0) fail("%s: is no mode", mode);
    if (count != (holds ? 6 : 7)) fail("%s: wrong number of arguments", mode);
    set_server(words[2], number(words[3], 1));
    long connection_count = number(words[4], 1);
    message_size = (size_t)number(words[5], 1);
    messages_to_begin = holds ? connection_count : number(words[6], 1);

    // A prime period, so that no power of two hides a byte that is out of place.
    pattern = malloc(message_size + 251);
    buffer = malloc(message_size);
    struct connection *connections = calloc((size_t)connection_count, sizeof *connections);
    if (!pattern || !buffer || !connections) fail("out of memory");
    for (size_t index = 0; index < message_size + 251; index++)
        pattern[index] = (unsigned char)(index % 251);
    set = epoll_create1(EPOLL_CLOEXEC);
    if (set < 0) fail("epoll_create1: %s", strerror(errno));

    for (long index = 0; index < connection_count; index++) {
        connections[index].phase = (size_t)index % 251;
        open_connection(&connections[index]);
    }
    run(connections, connection_count, reconnects);
    if (holds) wait_for_end_of_input();
    for (long index = 0; index < connection_count; index++)
        if (connections[index].descriptor >= 0) close(connections[index].descriptor);
    return 0;
}
