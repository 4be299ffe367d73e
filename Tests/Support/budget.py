#!/usr/bin/env python3
"""Measures what the released echo-server and async-echo cost, and fails where that is too much.

Each figure is printed with its budget. What an echo costs is the difference of two runs that
differ in their number of messages only, so that start and end cancel out.

    make budget                              all of them
    python3 Tests/Support/budget.py memory   only those of one group: see GROUPS at the end
"""

import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = ROOT / ".build/release/echo-server"
PLAIN_SERVER = ROOT / ".build/release/line-chat"
ASYNC_SERVER = ROOT / ".build/release/async-echo"
TLS_SERVER = ROOT / ".build/release/Benchmarks"
FOLDER = ROOT / ".build/budget"
LOAD = FOLDER / "load"

MESSAGE_BYTES = 64
CROWD = 64
HELD_CONNECTIONS = 8_000
PAGE_BYTES = resource.getpagesize()

# What allocates memory in a Swift program, and what counts references or checks accesses.
ALLOCATIONS = ("malloc", "calloc", "realloc", "swift_slowAlloc", "swift_allocObject")
BOOKKEEPING = ("swift_retain", "swift_bridgeObjectRetain", "swift_beginAccess")
# A table that grew in one of the two runs, and was large enough in the other.
ALMOST_NONE = 0.005

# What a line of instructions begins with: its place in the source, or how far it is from the last.
COSTS = tuple("0123456789+-*")

WAITS = ("epoll_wait", "epoll_pwait", "epoll_pwait2")

crossed = []


def report(what, figure, budget, digits=0):
    """Prints a figure beside the most that it may be, and remembers whether it is more."""
    # The difference of two runs may come out just below nothing; what is printed decides.
    figure = max(figure, 0)
    is_met = round(figure, digits) <= budget
    if not is_met:
        crossed.append(what)
    sign = "ok" if is_met else "CROSSED"
    print(f"{what:<58}{figure:>12,.{digits}f}{budget:>12,.{digits}f}  {sign}", flush=True)


class Server:
    """A running server, ended in order when the block that uses it ends."""

    def __init__(self, *wrapper, program=SERVER, options=()):
        self.name = program.name
        # The async server takes no options.
        words = [] if program.name == ASYNC_SERVER.name else ["--port", "0", *options]
        self.process = subprocess.Popen(
            [*wrapper, program, *words], stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on (.*):(\d+)\n", line)
        if not found:
            sys.exit(f"budget: {self.name} said {line!r} instead of where it listens")
        self.place = found.groups()
        # strace starts the server as its child; valgrind is the server itself.
        first = self.process.pid
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        self.pid = int(children[0]) if children else first
        self.descriptors_at_start = self.descriptors()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGTERM)
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"budget: {self.name} did not end within 60 s of SIGTERM")
        if self.process.returncode != 0:
            sys.exit(f"budget: {self.name} ended with {self.process.returncode}")

    def run(self, mode, connections, messages):
        """Has the load client send so many messages, and waits until all is closed again."""
        if subprocess.run(self.load(mode, connections, messages)).returncode != 0:
            sys.exit("budget: the load client failed")
        self.wait_until_closed()

    def hold(self, connections):
        """Opens the connections, echoes once on each, and leaves them open and idle."""
        client = subprocess.Popen(
            self.load("hold", connections),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        if client.stdout.readline() != "ready\n":
            sys.exit("budget: the load client failed")
        return client

    def let_go(self, client):
        """Has the client close everything, and waits until the server has closed its ends."""
        client.stdin.close()
        if client.wait() != 0:
            sys.exit("budget: the load client failed")
        self.wait_until_closed()

    def load(self, mode, connections, *messages):
        words = [mode, *self.place, connections, MESSAGE_BYTES, *messages]
        return [LOAD, *(str(word) for word in words)]

    def wait_until_closed(self):
        # What the server still has to do when it is told to end would count in one run only.
        deadline = time.monotonic() + 60
        while self.descriptors() > self.descriptors_at_start:
            if time.monotonic() > deadline:
                sys.exit(f"budget: {self.name} has not closed its connections within 60 s")
            time.sleep(0.01)

    def descriptors(self):
        return sum(1 for _ in pathlib.Path(f"/proc/{self.pid}/fd").iterdir())

    def status(self, field):
        """A number of /proc/PID/status."""
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE)[1])

    def resident_bytes(self):
        text = pathlib.Path(f"/proc/{self.pid}/statm").read_text()
        return int(text.split()[1]) * PAGE_BYTES


def difference(measure, few, many):
    """What one message more costs, for each thing that `measure` counts."""
    first, second = measure(few), measure(many)
    names = first.keys() | second.keys()
    return {n: (second.get(n, 0) - first.get(n, 0)) / (many - few) for n in names}


# Instructions, allocations


def without_debug_information(program):
    """A copy of a program whose debug information valgrind may not be able to read."""
    copy = FOLDER / program.name
    subprocess.run(["objcopy", "--strip-debug", program, copy], check=True)
    return copy


def calls_and_instructions(mode, connections, messages, program=SERVER):
    """Instructions of a run, and how often each function was called in it, by callgrind."""
    out = FOLDER / "callgrind.out"
    readable = without_debug_information(program)
    # Its log says that it does not know epoll_pwait2; the server then waits with epoll_wait.
    options = [f"--callgrind-out-file={out}", "--log-file=/dev/null"]
    with Server("valgrind", "--tool=callgrind", *options, program=readable) as server:
        server.run(mode, connections, messages)
    return read_callgrind(out)


def read_callgrind(path):
    """How often each function was called, and instructions: in all, and of each object's own.

    Source: the Callgrind Format Specification of valgrind's manual.
    """
    counts, names, called = {}, {}, None
    objects, current, is_of_call = {}, None, False
    for line in path.read_text(errors="replace").splitlines():
        if line[:1] in COSTS and not is_of_call:
            key = f"instructions of {current}"
            counts[key] = counts.get(key, 0) + int(line.split()[1])
        # The line behind it has the instructions of what was called.
        is_of_call = line.startswith("calls=")
        if line.startswith("cfn="):
            # A name is written out once, `(12) name`, and is `(12)` from then on.
            number, _, name = line[4:].partition(" ")
            called = names.setdefault(number, name)
        elif line.startswith("fn="):
            number, _, name = line[3:].partition(" ")
            names.setdefault(number, name)
        elif line.startswith(("ob=", "cob=")):
            number, _, name = line.partition("=")[2].partition(" ")
            place = objects.setdefault(number, name)
            if line.startswith("ob="):
                current = pathlib.Path(place).name
        elif line.startswith("calls="):
            name = called.split("'")[0]
            counts[name] = counts.get(name, 0) + int(line[6:].split()[0])
        elif line.startswith(("totals:", "summary:")):
            counts["instructions"] = int(line.split()[1])
    return counts


def measure_instructions():
    for connections, budget, few, many in ((CROWD, 400, 6_400, 38_400), (1, 800, 2_000, 12_000)):
        costs = difference(
            lambda count: calls_and_instructions("pingpong", connections, count), few, many
        )
        crowd = f"{connections} connection" + ("s" if connections > 1 else "")
        report(f"user instructions an echo, {crowd}", costs["instructions"], budget)
        for names, what in ((ALLOCATIONS, "allocations"), (BOOKKEEPING, "retains, access checks")):
            count = sum(costs.get(name, 0) for name in names)
            report(f"{what} an echo, {crowd}", count, ALMOST_NONE, digits=3)
    costs = difference(lambda count: calls_and_instructions("connect", 16, count), 960, 4_800)
    report("user instructions a connect + echo + close, 16 at a time", costs["instructions"], 5_000)


# System calls


def system_calls(mode, connections, messages, program=SERVER):
    out = FOLDER / "strace.out"
    with Server("strace", "-f", "-c", "-o", str(out), program=program) as server:
        server.run(mode, connections, messages)
    return read_strace(out)


def read_strace(out):
    counts = {}
    for line in out.read_text().splitlines():
        # % time, seconds, microseconds a call, calls, errors if there were any, name.
        words = line.split()
        if len(words) in (5, 6) and words[3].isdigit() and words[-1] != "total":
            counts[words[-1]] = int(words[3])
    return counts


def measure_system_calls():
    for connections, budget in ((CROWD, 2.06), (1, 3.0)):
        costs = difference(
            lambda count: system_calls("pingpong", connections, count), 3_200, 16_000
        )
        crowd = f"{connections} connection" + ("s" if connections > 1 else "")
        report(f"system calls an echo, {crowd}", sum(costs.values()), budget, digits=2)
        report(f"epoll_ctl an echo, {crowd}", costs.get("epoll_ctl", 0), 0, digits=3)
    # Accept, receive, send, receive the end, close, into the set and out of it: seven, and two
    # waits that a crowd shares. Now and then an accept finds nobody.
    costs = difference(lambda count: system_calls("connect", 1, count), 500, 5_500)
    report("system calls a connect + echo + close", sum(costs.values()), 9, 2)
    costs = difference(lambda count: system_calls("connect", CROWD, count), 640, 3_200)
    waits = sum(costs.get(name, 0) for name in WAITS)
    report(f"without waits, {CROWD} connections", sum(costs.values()) - waits, 7.1, 2)


# The async style


# Connections, the most instructions, how many times a delegate's echo that is to be at most, few
# messages, many.
ASYNC_ECHOES = ((CROWD, 1_780, 12_800, 44_800), (1, 1_880, 2_000, 12_000))
ASKED_FACTOR = 3


def measure_async():
    for connections, budget, few, many in ASYNC_ECHOES:
        costs = [
            difference(
                lambda count: calls_and_instructions("pingpong", connections, count, program),
                few,
                many,
            )["instructions"]
            for program in (SERVER, ASYNC_SERVER)
        ]
        crowd = f"{connections} connection" + ("s" if connections > 1 else "")
        report(f"user instructions an awaited echo, {crowd}", costs[1], budget)
        times, asked = costs[1] / costs[0], ASKED_FACTOR * costs[0]
        print(f"  {times:.2f} times a delegate's; asked: {ASKED_FACTOR}, {asked:,.0f}", flush=True)
        calls = difference(
            lambda count: system_calls("pingpong", connections, count, ASYNC_SERVER),
            3_200,
            16_000,
        )
        report(f"futex calls an awaited echo, {crowd}", calls.get("futex", 0), 0, digits=3)


# Memory


def bytes_per_connection(*options, waves=1):
    """What a connection adds to the resident memory, and that memory after each wave of them."""
    with Server(options=options) as server:
        # The first message touches the receive buffer and whatever else there is one of.
        server.run("pingpong", 1, 1)
        empty = server.resident_bytes()
        held = []
        for _ in range(waves):
            client = server.hold(HELD_CONNECTIONS)
            held.append(server.resident_bytes())
            server.let_go(client)
    return (held[0] - empty) / HELD_CONNECTIONS, held


def allow_descriptors(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + 64
    if hard != resource.RLIM_INFINITY and hard < needed:
        sys.exit(f"budget: {needed} descriptors are needed, the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))


def measure_memory():
    allow_descriptors(HELD_CONNECTIONS)
    each, (first_wave, second_wave) = bytes_per_connection(waves=2)
    report(f"resident bytes a connection, {HELD_CONNECTIONS:,} of them", each, 512)
    # No connection is silent for so long here: the timers are armed, and nothing more.
    with_timer, _ = bytes_per_connection("--idle-timeout", "3600")
    report("bytes more for an armed idle timer", with_timer - each, 64)
    growth = 100 * (second_wave - first_wave) / first_wave
    report("growth with a second wave, per cent", growth, 5, digits=1)


# TLS

# So many bytes are one record, and so are they when they come back.
RECORD = bytes(range(256)) * 64
SECURED_CONNECTIONS = 2_000
# What of the allocations is ours: the library's own go to malloc, for each record.
OUR_ALLOCATIONS = ("swift_slowAlloc", "swift_allocObject")
OUR_OBJECTS = (TLS_SERVER.name, "libswiftCore.so")
RECEIVES = ("recvfrom", "recvmsg", "read")
SENDS = ("sendto", "sendmsg", "write", "writev")


class TLSServer(Server):
    """The benchmarks' echo server over TLS, which ends when its standard input does."""

    def __init__(self, *wrapper, program=TLS_SERVER):
        self.name = program.name
        self.process = subprocess.Popen(
            [*wrapper, program, "serve", "tls-towline"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=tls_environment(),
        )
        self.place = ("127.0.0.1", int(self.process.stdout.readline().split()[0]))
        first = self.process.pid
        children = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()
        self.pid = int(children[0]) if children else first
        self.descriptors_at_start = self.descriptors()

    def __exit__(self, *_):
        self.process.stdin.close()
        if self.process.wait(timeout=60) != 0:
            sys.exit(f"budget: {self.name} ended with {self.process.returncode}")

    def connect(self):
        plain = socket.create_connection(self.place, timeout=60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return tls_client().wrap_socket(plain)

    def echo(self, connections, message, rounds):
        for _ in range(rounds):
            for connection in connections:
                connection.sendall(message)
            for connection in connections:
                received = 0
                while received < len(message):
                    received += len(connection.recv(len(message)))


def tls_client():
    """A client that trusts whatever it meets: what it costs is not looked at."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def tls_environment():
    key, certificate = FOLDER / "tls.key", FOLDER / "tls.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate],
        check=True, stderr=subprocess.DEVNULL,
    )
    words = {"BENCHMARK_CERTIFICATE": certificate, "BENCHMARK_KEY": key}
    return {**os.environ, **{name: path.read_text() for name, path in words.items()}}


def tls_calls(connections, message, rounds):
    out = FOLDER / "callgrind.out"
    options = [f"--callgrind-out-file={out}", "--log-file=/dev/null"]
    readable = without_debug_information(TLS_SERVER)
    with TLSServer("valgrind", "--tool=callgrind", *options, program=readable) as server:
        opened = [server.connect() for _ in range(connections)]
        server.echo(opened, message, rounds)
        for connection in opened:
            connection.close()
        # What an end allocates would count in one run only, if the server came to it in that one.
        server.wait_until_closed()
        time.sleep(0.1)
    return read_callgrind(out)


def tls_system_calls(messages):
    out = FOLDER / "strace.out"
    with TLSServer("strace", "-f", "-c", "-o", str(out)) as server:
        with server.connect() as connection:
            server.echo([connection], RECORD, messages)
    return read_strace(out)


def half_hello():
    """The first half of what a client sends first."""
    sent = ssl.MemoryBIO()
    try:
        tls_client().wrap_bio(ssl.MemoryBIO(), sent).do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = sent.read()
    return hello[: len(hello) // 2]


def resident_bytes_each(server, open_one):
    """What each of many connections adds to the server's memory, once they are open and quiet."""
    # The first ones touch what there is one of.
    kept = [open_one() for _ in range(50)]
    time.sleep(0.5)
    before = server.resident_bytes()
    kept += [open_one() for _ in range(SECURED_CONNECTIONS)]
    time.sleep(1)
    each = (server.resident_bytes() - before) / SECURED_CONNECTIONS
    for connection in kept:
        connection.close()
    return each


def measure_secured_echo(what, connections, message, few, many, budget):
    costs = difference(lambda count: tls_calls(connections, message, count), few, many)
    costs = {name: cost / connections for name, cost in costs.items()}
    ours = sum(costs.get(f"instructions of {name}", 0) for name in OUR_OBJECTS)
    report(f"our instructions a secured echo of {what}", ours, budget)
    print(f"  with the library's: {costs['instructions']:,.0f}", flush=True)
    for names, kind, most in (
        (OUR_ALLOCATIONS, "allocations", ALMOST_NONE),
        # What has secured the connection is held while its callback runs.
        (BOOKKEEPING, "retains, access checks", 1),
    ):
        count = sum(costs.get(name, 0) for name in names)
        report(f"our {kind} a secured echo of {what}", count, most, digits=3 if most < 1 else 1)


def measure_tls():
    measure_secured_echo(f"{MESSAGE_BYTES} B", CROWD, b"x" * MESSAGE_BYTES, 10, 60, 1_350)
    measure_secured_echo("16 KiB", 1, RECORD, 200, 1_200, 1_900)
    calls = difference(tls_system_calls, 200, 2_200)
    for names, what in ((RECEIVES, "receives"), (SENDS, "sends")):
        count = sum(calls.get(name, 0) for name in names)
        report(f"{what} a secured echo of 16 KiB", count, 1, digits=1)
    allow_descriptors(2 * SECURED_CONNECTIONS)

    def secured():
        connection = server.connect()
        connection.sendall(b"x")
        connection.recv(1)
        return connection

    def unfinished():
        connection = socket.create_connection(server.place, timeout=60)
        connection.sendall(hello)
        return connection

    hello = half_hello()
    for open_one, what, budget in (
        (secured, "an idle secured connection", 17_500),
        (unfinished, "a connection of half a hello", 4_096),
    ):
        with TLSServer() as server:
            report(f"resident bytes of {what}", resident_bytes_each(server, open_one), budget)


# Idleness


def wakeups(server):
    before = server.status("voluntary_ctxt_switches")
    time.sleep(1)
    return server.status("voluntary_ctxt_switches") - before


def measure_idleness():
    with Server() as server:
        time.sleep(0.1)
        report("threads, idle", server.status("Threads"), 1)
        # OpenSSL is 1.7 of them, unused as long as no option asks for TLS.
        report("resident MiB, idle", server.resident_bytes() / 2**20, 12.5, digits=1)
        report("wakeups in a second, idle", wakeups(server), 0)
        client = server.hold(CROWD)
        report(f"wakeups in a second, {CROWD} idle connections", wakeups(server), 0)
        server.let_go(client)
    with Server(program=PLAIN_SERVER) as server:
        report("resident MiB, idle, without TLS", server.resident_bytes() / 2**20, 10.5, digits=1)


# Libraries, of a program without TLS


def measure_libraries():
    text = subprocess.run(
        ["readelf", "--dynamic", "--wide", PLAIN_SERVER], check=True, capture_output=True, text=True
    ).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    unwanted = ("libssl", "libcrypto", "libz.", "liburing", "Foundation")
    found = [name for name in needed if any(word in name for word in unwanted)]
    report("needed libraries of other projects", len(found), 0)


GROUPS = {
    "libraries": measure_libraries,
    "idleness": measure_idleness,
    "memory": measure_memory,
    "calls": measure_system_calls,
    "instructions": measure_instructions,
    "async": measure_async,
    "tls": measure_tls,
}


def main():
    names = sys.argv[1:] or list(GROUPS)
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        sys.exit(f"budget: {unknown[0]} is none of {', '.join(GROUPS)}")
    for program in (SERVER, PLAIN_SERVER, ASYNC_SERVER, TLS_SERVER):
        if not program.exists():
            sys.exit(f"budget: {program} is absent; `make budget` builds it")
    FOLDER.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).with_name("load.c")
    subprocess.run(
        ["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o", LOAD, source], check=True
    )
    print(f"{'what':<58}{'measured':>12}{'at most':>12}")
    for name in names:
        GROUPS[name]()
    if crossed:
        sys.exit(f"budget: {len(crossed)} crossed: {'; '.join(crossed)}")


if __name__ == "__main__":
    main()
