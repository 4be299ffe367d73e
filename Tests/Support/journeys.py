#!/usr/bin/env python3
"""Holds the example servers to what Docs/Journeys.md promises, and prints the figures.

    make journeys                                   all of them
    python3 Tests/Support/journeys.py crowd         only some: see JOURNEYS at the end
    SLOW_SECONDS=210 make journeys                  10 GiB through the slow side instead of 2.9

The clients are this program; they take as much of the machine as the server does.
"""

import os
import pathlib
import resource
import selectors
import signal
import socket
import sys
import threading
import time

from examples import BUILT, Server, Wrong, expect, wait_until

SLOW_SECONDS = int(os.environ.get("SLOW_SECONDS", "60"))
CROWD = 5_000
MIB = 2**20


def report(what, figure, unit, limit, digits=1):
    """Prints a figure beside the most that it may be."""
    is_met = figure <= limit
    sign = "ok" if is_met else "CROSSED"
    print(f"  {what:<56}{figure:>12,.{digits}f} {unit:<8}{limit:>8,} at most  {sign}", flush=True)
    expect(is_met, f"{what}: {figure} {unit}")


def note(what, figure, unit, digits=1):
    print(f"  {what:<56}{figure:>12,.{digits}f} {unit}", flush=True)


def status(server, field):
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith(field + ":"))


# J6: two sockets tied


def tied():
    """A fast sender, port-forwarder, and a reader of 50 MiB a second."""
    rate = 50 * MIB
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    with Server("port-forwarder", "--to", f"127.0.0.1:{port}") as server:
        client = socket.create_connection(("127.0.0.1", int(server.port)))
        far, _ = listener.accept()
        # What there is one of, such as the receive buffer, is touched before it is measured.
        warm_up = b"w" * (8 * MIB)
        sender = threading.Thread(target=client.sendall, args=(warm_up,), daemon=True)
        sender.start()
        receive(far, len(warm_up))
        sender.join()
        start = server.resident_bytes()
        sent = [0]

        def send():
            chunk = b"x" * MIB
            try:
                while True:
                    client.sendall(chunk)
                    sent[0] += MIB
            except OSError:
                pass

        threading.Thread(target=send, daemon=True).start()
        begin = time.monotonic()
        buffer = bytearray(MIB // 4)
        count = most = 0
        while (elapsed := time.monotonic() - begin) < SLOW_SECONDS:
            if count > rate * elapsed:
                time.sleep(0.002)
                continue
            count += far.recv_into(buffer)
            if count // (16 * MIB) != (count - MIB // 4) // (16 * MIB):
                most = max(most, server.resident_bytes())
        cpu = server.cpu_seconds()
        # The sender is in the middle of a write; its end is a reset, and so is the other one.
        far.close()
        client.close()
        note("through the slow side", count / 2**30, "GiB", 2)
        note("a second", count / MIB / elapsed, "MiB")
        note("processor time of the forwarder", 100 * cpu / elapsed, "%")
        report("resident memory above its start", (most - start) / MIB, "MiB", 4, 2)
    listener.close()


def receive(far, count):
    buffer = bytearray(MIB)
    while count > 0:
        count -= far.recv_into(buffer, min(count, len(buffer)))


# J4: a crowd


def connect(address):
    """By TCP to a port, or to the path of a Unix socket."""
    if ":" in address:
        return socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])))
    one = socket.socket(socket.AF_UNIX)
    one.connect(address.replace("@", "\0", 1))
    return one


class Crowd:
    """Many clients of line-chat, each with a name, read by one loop."""

    def __init__(self, address, count):
        self.selector = selectors.DefaultSelector()
        self.bytes = 0
        self.sockets = []
        for index in range(count):
            one = connect(address)
            one.sendall(f"c{index}\n".encode())
            one.setblocking(False)
            self.sockets.append(one)
            self.selector.register(one, selectors.EVENT_READ)
            if index % 100 == 0:
                self.read(0)

    def read(self, seconds):
        """Takes whatever comes for so long."""
        deadline = time.monotonic() + seconds
        while True:
            for key, _ in self.selector.select(max(0, deadline - time.monotonic())):
                try:
                    data = key.fileobj.recv(65_536)
                except BlockingIOError:
                    continue
                except OSError:
                    data = b""
                self.bytes += len(data)
                if not data:
                    self.selector.unregister(key.fileobj)
            if time.monotonic() >= deadline:
                return

    def keep(self, count):
        """Closes all but so many."""
        while len(self.sockets) > count:
            one = self.sockets.pop()
            self.selector.unregister(one)
            one.close()

    def close(self):
        self.selector.close()
        for one in self.sockets:
            one.close()


def crowd():
    """5,000 members, lines for all of them, one that reads nothing, and all gone at once."""
    for policy in ("drop", "skip"):
        # Over Unix sockets: for TCP the kernel itself takes megabytes for who does not read.
        path = f"@towline-crowd-{os.getpid()}"
        options = ("--unix", path, "--slow", policy, "--pulse", "0.01")
        with Server("line-chat", *options) as server:
            empty = server.resident_bytes()
            begin = time.monotonic()
            members = Crowd(server.address, CROWD)
            wait_until(
                lambda: (members.read(0.05), server.figures()["chat_members"])[1] == CROWD,
                "all have got in",
                60,
            )
            print(f"  {CROWD:,} members, --slow {policy}")
            note("all are in after", time.monotonic() - begin, "s")
            note("resident bytes a member", (server.resident_bytes() - empty) / CROWD, "bytes", 0)
            talk(server, members, policy)
            leave(server, members)


def say(server, members, count):
    """Lines to all, ten at a time, so that those who read never count as slow."""
    line = b"." * 1_000 + b"\n"
    for _ in range(count // 10):
        wanted = members.bytes + 10 * (len(line) + 5) * len(members.sockets)
        members.sockets[0].sendall(line * 10)
        # Now and then a few of them come with somebody's notice.
        deadline = time.monotonic() + 20
        while members.bytes < wanted and time.monotonic() < deadline:
            members.read(0.01)
    return count * len(members.sockets)


def talk(server, members, policy):
    used = server.cpu_seconds()
    delivered = say(server, members, 20)
    used = server.cpu_seconds() - used
    note("processor time for one line to one member", 1e6 * used / delivered, "us")
    used = processor_time(server)
    for _ in range(100):
        server.figures()
    used = (processor_time(server) - used) / 100
    note("asking for all figures, connecting included", used, "ms", 2)

    # One that reads nothing, among a thousand: among all of them it takes minutes to fill.
    members.keep(1_000)
    wait_until(
        lambda: (members.read(0.05), server.figures()["chat_members"])[1] == 1_000, "most have left"
    )
    deaf = connect(server.address)
    deaf.sendall(b"deaf\n")
    wait_until(
        lambda: (members.read(0.05), server.figures()["chat_members"])[1] == 1_001, "one more"
    )
    deadline = time.monotonic() + 60
    figures = server.figures()
    while figures["chat_skipped_total"] <= 20 and figures["chat_members"] > 1_000:
        expect(time.monotonic() < deadline, "the one that reads nothing is sent everything")
        say(server, members, 50)
        figures = server.figures()
    expect(figures["chat_skipped_total"] > 0, "nothing is skipped")
    is_cut = figures["chat_members"] == 1_000
    expect(is_cut == (policy == "drop"), "whether the one that reads nothing is cut")
    report("bytes that wait for the slowest", figures["chat_slowest_bytes"], "bytes", 264_000, 0)
    deaf.close()


def leave(server, members):
    """All connections end at once: a process that dies closes its descriptors so."""
    members.read(0.5)
    server.figures()
    members.close()
    wait_until(lambda: server.figures()["chat_members"] == 0, "all have left")


def processor_time(server):
    """Milliseconds; the first number of schedstat is in nanoseconds."""
    text = pathlib.Path(f"/proc/{server.process.pid}/schedstat").read_text()
    return int(text.split()[0]) / 1e6


def dying_crowd():
    """The members are another process, which is killed; then idle ones are cut by the server."""
    for reason in ("killed", "cut"):
        idle = "5" if reason == "cut" else "300"
        options = ("--pulse", "0.01", "--idle-timeout", idle)
        with Server("line-chat", *options) as server:
            child = os.fork()
            if child == 0:
                members = Crowd(server.address, CROWD)
                while True:
                    members.read(10)
            # Those who came first may be cut before the last ones come.
            many = CROWD * 0.9 if reason == "killed" else CROWD / 10
            wait_until(lambda: server.figures()["chat_members"] > many, "they come", 60)
            time.sleep(1)
            server.figures()
            before = processor_time(server)
            if reason == "killed":
                os.kill(child, signal.SIGKILL)
            latest = most = 0
            deadline = time.monotonic() + 30
            remaining = CROWD
            while remaining > 0:
                figures = server.figures()
                remaining = figures["chat_members"]
                latest = max(latest, figures["pulse_lateness_seconds"])
                most = max(most, figures["pulse_processor_seconds"])
                expect(time.monotonic() < deadline, "some are still there")
                time.sleep(0.05)
            print(f"  {CROWD:,} members {reason}")
            note("processor time for all of it", processor_time(server) - before, "ms")
            if reason == "cut":
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            note("a 10 ms timer is late by, on the machine as it is", 1_000 * latest, "ms")
            # The period and 50 ms: what others do on this machine is not the server's doing.
            report("processor time between two beats of it", 1_000 * most, "ms", 60)


def descriptors():
    """A server that may have 64 descriptors, and 100 clients."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
    server = Server("echo-server", complains=True)
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with server:
        address = ("127.0.0.1", int(server.port))
        clients = [socket.create_connection(address) for _ in range(100)]
        answered = []
        for client in clients:
            client.settimeout(0.2 if len(answered) < 100 else 0)
            client.sendall(b"x")
        time.sleep(0.5)
        cpu, switches = server.cpu_seconds(), status(server, "voluntary_ctxt_switches")
        time.sleep(2)
        report("wake-ups a second at the limit", (status(server, "voluntary_ctxt_switches") - switches) / 2, "", 20)
        report("processor time at the limit", 50 * (server.cpu_seconds() - cpu), "%", 1)
        served = [client for client in clients if answers(client, 0)]
        note("served at the limit, of 100", len(served), "clients", 0)
        for client in served:
            client.close()
        rest = [client for client in clients if client not in served]
        begin = time.monotonic()
        late = sum(1 for client in rest if answers(client, 5))
        expect(late == len(rest), f"{len(rest) - late} clients are never served")
        report("the others are served after", time.monotonic() - begin, "s", 2, 2)
        complaints = server.complaints().count("accept on ")
        report("lines about it on standard error", complaints, "lines", 6, 0)
        for client in rest:
            client.close()


def answers(client, seconds):
    client.settimeout(seconds or 0.001)
    try:
        return client.recv(1) == b"x"
    except (TimeoutError, BlockingIOError):
        return False


JOURNEYS = {
    "tied": tied,
    "descriptors": descriptors,
    "dying": dying_crowd,
    "crowd": crowd,
}


def main():
    names = sys.argv[1:] or list(JOURNEYS)
    unknown = [name for name in names if name not in JOURNEYS]
    if unknown:
        sys.exit(f"journeys: {unknown[0]} is none of {', '.join(JOURNEYS)}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = CROWD + 100
    if hard != resource.RLIM_INFINITY and hard < needed:
        sys.exit(f"journeys: {needed} descriptors are needed, the hard limit is {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    for name in names:
        print(f"{name}: {JOURNEYS[name].__doc__}", flush=True)
        try:
            JOURNEYS[name]()
        except Wrong as error:
            sys.exit(f"journeys: {name}: {error}")


if __name__ == "__main__":
    main()
