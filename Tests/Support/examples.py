#!/usr/bin/env python3
"""Runs the example servers against real counterparts on loopback, and compares what is said.

    make examples                              all of them
    python3 Tests/Support/examples.py chat     only one: see EXAMPLES at the end

Each program runs on a port that the kernel chooses, and is ended by its process number. What they
write to standard error is shown when something is not as it must be.
"""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

# No folder of theirs belongs among the sources.
sys.dont_write_bytecode = True

import examples_http
import examples_tls
from example_tools import (
    BUILT, Running, Server, Socat, WAIT_SECONDS, Wrong, equal, expect, pattern, run, through_socat,
    wait_until,
)

LIMIT_SECONDS = 60

# Each command, and the Debian package that has it.
NEEDED = {
    "socat": "socat",
    "redis-server": "redis-server",
    "redis-cli": "redis-tools",
    "redis-benchmark": "redis-tools",
    "haproxy": "haproxy",
    "openssl": "openssl",
    "curl": "curl",
    "nginx": "nginx-light",
    "aiosmtpd": "python3-aiosmtpd",
}


# echo-server


def echo():
    many = pattern(3_000_000)
    with Server("echo-server", "--host", "127.0.0.1", "--port", "0") as server:
        equal(through_socat(f"TCP:{server.address}", b"one\ntwo\n"), b"one\ntwo\n", "TCP")
        equal(through_socat(f"TCP:{server.address}", many), many, "TCP, 3 MB")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/echo"
        with Server("echo-server", "--unix", path) as server:
            equal(server.address, path, "address")
            equal(through_socat(f"UNIX-CONNECT:{path}", many), many, "Unix path, 3 MB")
        expect(not os.path.exists(path), "the file of the socket is left behind")
    name = f"towline-example-{os.getpid()}"
    with Server("echo-server", "--unix", f"@{name}") as server:
        equal(through_socat(f"ABSTRACT-CONNECT:{name}", b"abstract"), b"abstract", "abstract name")
    with Server("echo-server", "--idle-timeout", "0.2") as server:
        with Socat(f"TCP:{server.address}") as client:
            client.send(b"silent from here on")
            equal(client.rest(), b"silent from here on", "until the idle timeout")


# The statistics page, of echo-server


def statistics():
    with Server("echo-server", "--pulse", "0.01") as server:
        through_socat(f"TCP:{server.address}", b"counted")
        equal(server.page("/health"), "ok\n", "/health")
        figures = server.figures()
        expect(figures["towline_received_bytes_total"] >= 7, "bytes are not counted")
        expect(figures["pulse_lateness_seconds"] < 1, "the pulse does not beat")
        for line in server.page("/metrics").splitlines():
            known = re.fullmatch(
                r'# TYPE [a-z_]+ (counter|gauge|summary)|[a-z_]+(\{quantile="[0-9.]+"\})? [0-9.e-]+',
                line,
            )
            expect(known, f"/metrics has {line!r}")
        for request, status in (
            (b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", b"404"),
            (b"POST /stats HTTP/1.1\r\n\r\n", b"405"),
            (b"nonsense\r\n\r\n", b"400"),
        ):
            answer = through_socat(f"TCP:{server.statistics}", request)
            equal(answer[:13], b"HTTP/1.0 " + status + b" ", f"answer to {request}")
        count = 500
        before = server.cpu_seconds()
        for _ in range(count):
            server.page("/metrics")
        each = 1_000 * (server.cpu_seconds() - before) / count
        print(f"    asking costs {each:.2f} ms of CPU, connecting included")
        expect(each < 1, "asking for figures costs 1 ms or more")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/figures"
        process = subprocess.Popen(
            [BUILT / "echo-server", "--stats", path], stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        equal(process.stdout.readline(), f"statistics on {path}\n", "second line")
        equal(os.stat(path).st_mode & 0o777, 0o600, "mode of the socket's file")
        answer = through_socat(f"UNIX-CONNECT:{path}", b"GET /health HTTP/1.0\r\n\r\n")
        expect(answer.endswith(b"\r\n\r\nok\n"), f"health over a path: {answer}")
        process.terminate()
        equal(process.wait(timeout=WAIT_SECONDS), 0, "exit code")
        process.stdout.close()
    refused = subprocess.run(
        [BUILT / "echo-server", "--stats", "0.0.0.0:0"], capture_output=True, text=True,
        timeout=WAIT_SECONDS,
    )
    equal(refused.returncode, 2, "exit code for statistics that everybody could see")


# line-chat


def enter(client, name, end=b"\n"):
    client.expect_line("* who are you? 1 to 20 letters, digits, - or _")
    client.send(name.encode() + end)
    client.expect_line(f"* welcome, {name}; /quit ends")


def chat():
    talk()
    for policy in ("skip", "drop"):
        stand_still(policy)
    with Server("line-chat", "--idle-timeout", "0.2") as server:
        with Socat(f"TCP:{server.address}") as client:
            client.expect_line("* who are you? 1 to 20 letters, digits, - or _")
            client.expect_line("* are you there?")
            equal(client.rest(), b"* you are not there any more\r\n", "the last words")


def talk():
    with Server("line-chat") as server:
        address = f"TCP:{server.address}"
        with Socat(address) as anna, Socat(address) as bob, Socat(address) as other:
            enter(anna, "anna", b"\r\n")
            anna.expect_line("* anna came")
            enter(bob, "bob")
            for client in (anna, bob):
                client.expect_line("* bob came")
            other.expect_line("* who are you? 1 to 20 letters, digits, - or _")
            other.send(b"bob\n")
            other.expect_line("* taken; another one?")
            other.send(b"no name\n")
            other.expect_line("* not a name; another one?")

            # Cut anywhere, with either end, several at once, and with a colour that nobody gets.
            anna.send(b"hel")
            anna.send(b"lo\r\nfrom \x1b[31manna\nand again\r\n")
            bob.send("grüße\n".encode())
            for client in (anna, bob):
                lines = sorted(client.line() for _ in range(4))
                wanted = ["anna: and again", "anna: from [31manna", "anna: hello", "bob: grüße"]
                equal(lines, wanted, "the talk")

            bob.send(b"x" * 1_024)
            equal(bob.rest(), b"* a line has 1024 bytes at most\r\n", "a line that is too long")
            anna.expect_line("* bob left")
            other.send(b"/quit\n")
            equal(other.rest(), b"* bye\r\n", "an end that was asked for")
            server.process.send_signal(signal.SIGTERM)
            equal(anna.rest(), b"* the server ends\r\n", "the end of the server")


def stand_still(policy):
    """One client says 6 MB, and one hears them; the third reads nothing."""
    with Server("line-chat", "--slow", policy) as server:
        address = f"TCP:{server.address}"
        with Socat(address) as anna, Socat(address) as bob, Socat(f"{address},rcvbuf=4096") as carl:
            for client, name in ((anna, "anna"), (bob, "bob"), (carl, "carl")):
                enter(client, name)
            while "carl came" not in anna.line():
                pass
            anna.ignored = [bob.process.stdout]
            before = server.resident_bytes()
            talked = 0
            carl_left = False
            # So many at a time that those who read never count as slow.
            for _ in range(60):
                lines = [f"{talked + index:07d}".encode() + b"." * 992 for index in range(100)]
                bob.send(b"".join(line + b"\n" for line in lines))
                talked += 100
                for line in lines:
                    heard = anna.line()
                    if heard == "* carl left":
                        carl_left = True
                        heard = anna.line()
                    equal(heard, f"bob: {line.decode()}", "what anna hears")
            growth = server.resident_bytes() - before
            figures = server.figures()
        print(
            f"    {policy}: {figures['chat_skipped_total']:,} lines skipped, resident memory "
            f"{growth / 2**20:+.1f} MiB, {figures['chat_slowest_bytes']:,} bytes for the slowest"
        )
        expect(figures["chat_skipped_total"] > 0, "nothing was skipped")
        expect(growth < 4 * 2**20, "memory grows with what a client leaves unread")
        expect(figures["chat_slowest_bytes"] <= 257 * 1_024, "more waits than the mark allows")
        equal(carl_left, policy == "drop", "whether who does not read is cut")
        equal(figures["chat_members"], 2 if policy == "drop" else 3, "members")


# port-forwarder


def forward():
    with tempfile.TemporaryDirectory() as folder:
        forward_redis(folder)
        forward_half_closed(folder)
        path = f"{folder}/nobody"
        with Server("port-forwarder", "--to", path, complains=True) as server:
            with socket.create_connection(("127.0.0.1", int(server.port))) as client:
                client.settimeout(WAIT_SECONDS)
                try:
                    equal(client.recv(1), b"reset", "what comes where nobody listens")
                except ConnectionResetError:
                    pass
            expect("No such file" in server.complaints() or "ENOENT" in server.complaints(),
                   f"complaint: {server.complaints()}")
            equal(server.figures()["forward_refused_total"], 1, "refused")


def forward_redis(folder):
    """redis-server behind, its own tools in front, once more with haproxy before all."""
    redis = f"{folder}/redis"
    words = ["redis-server", "--port", "0", "--unixsocket", redis, "--save", "", "--dir", folder]
    many = pattern(3_000_000)
    with Running(words, redis), Server("port-forwarder", "--to", redis) as server:
        front = ["-h", "127.0.0.1", "-p", server.port]
        equal(run("redis-cli", *front, "ping"), b"PONG\n", "ping")
        equal(run("redis-cli", *front, "-x", "set", "many", data=many), b"OK\n", "3 MB in")
        equal(run("redis-cli", *front, "--raw", "get", "many"), many + b"\n", "3 MB out")
        said = run("redis-benchmark", *front, *"-q -n 40000 -c 50 -P 16 -t set,get".split())
        rates = re.findall(r"(SET|GET): ([0-9.]+) requests per second", said.decode())
        equal([name for name, _ in rates], ["SET", "GET"], "redis-benchmark")
        print(f"    redis-benchmark through it: {', '.join(' '.join(rate) for rate in rates)} a second")

        outer = f"{folder}/haproxy"
        configuration = pathlib.Path(folder, "haproxy.cfg")
        configuration.write_text(
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 10s\n"
            "  timeout server 10s\n"
            f"listen front\n  bind unix@{outer}\n  server forwarder 127.0.0.1:{server.port}\n"
        )
        with Running(["haproxy", "-db", "-q", "-f", str(configuration)], outer):
            equal(run("redis-cli", "-s", outer, "ping"), b"PONG\n", "ping through haproxy")
            said = run("redis-cli", "-s", outer, "--raw", "get", "many")
            equal(said, many + b"\n", "3 MB through haproxy")
        wait_until(lambda: server.figures()["forward_open"] == 0, "all connections have ended")
        expect(server.figures()["forward_bytes_back_total"] > 6_000_000, "bytes are not counted")


def forward_half_closed(folder):
    """Each side ends first, once; what the other still has to say arrives."""
    counter = f"{folder}/counter"
    count = 3_000_000
    with Running(["socat", "-t", "10", f"UNIX-LISTEN:{counter},fork", "EXEC:wc -c"], counter):
        with Server("port-forwarder", "--to", counter) as server:
            said = through_socat(f"TCP:{server.address}", pattern(count), "-t", "10")
            equal(said, b"%d\n" % count, "what wc says behind the client's end")
            wait_until(lambda: server.figures()["forward_complete_total"] == 1, "it is complete")
            idle = socket.create_connection(("127.0.0.1", int(server.port)))
            wait_until(lambda: server.figures()["forward_open"] == 1, "it is open")
            server.process.send_signal(signal.SIGTERM)
            idle.settimeout(WAIT_SECONDS)
            equal(idle.recv(1), b"", "the end of an idle connection, in a drain")
            idle.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        # The second of two addresses, when nobody listens at the first; then a name.
        forward_end_first(listener, f"127.0.0.1:1,127.0.0.1:{port}")
        forward_end_first(listener, f"localhost:{port}")


def forward_end_first(listener, target):
    """The far side ends first, and still hears everything that the client says."""
    with Server("port-forwarder", "--to", target) as server:
        with Socat(f"TCP:{server.address}", "-t", "10") as client:
            far, _ = listener.accept()
            far.settimeout(WAIT_SECONDS)
            far.sendall(b"first")
            far.shutdown(socket.SHUT_WR)
            while len(client.bytes) < 5:
                client.receive()
            equal(client.bytes, b"first", "what the server says before its end")
            client.send(pattern(30_000))
            client.process.stdin.close()
            heard = b""
            while more := far.recv(65_536):
                heard += more
            equal(heard, pattern(30_000), "what the client says behind the server's end")
            far.close()
            # Had the server's end not been passed on, socat would wait for it, 10 s.
            equal(client.process.wait(timeout=5), 0, "exit code of socat")
            wait_until(lambda: server.figures()["forward_complete_total"] == 1, "complete")


EXAMPLES = {
    "echo": echo,
    "statistics": statistics,
    "chat": chat,
    "forward": forward,
    "secure": examples_tls.echo,
    "probe": examples_tls.probe_all,
    "mail": examples_tls.mail,
    "raw": examples_http.raw_http,
    "names": examples_http.name_by_http,
}


def main():
    names = sys.argv[1:] or list(EXAMPLES)
    unknown = [name for name in names if name not in EXAMPLES]
    if unknown:
        sys.exit(f"examples: {unknown[0]} is none of {', '.join(EXAMPLES)}")
    missing = sorted({package for command, package in NEEDED.items() if not shutil.which(command)})
    if missing:
        sys.exit(f"examples: absent Debian packages: {', '.join(missing)}; `make setup` installs them")

    def give_up(*_):
        sys.exit(f"examples: not done within {LIMIT_SECONDS} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LIMIT_SECONDS)
    for name in names:
        start = time.monotonic()
        print(f"{name}", flush=True)
        try:
            EXAMPLES[name]()
        except Wrong as error:
            sys.exit(f"examples: {name}: {error}")
        print(f"    as it must be, {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
