"""What the checks of the examples have in common: servers, clients, and what has to hold."""

import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILT = ROOT / ".build/release"
WAIT_SECONDS = 10


class Wrong(Exception):
    """Something is not as it must be."""


def expect(is_met, what):
    if not is_met:
        raise Wrong(what)


def equal(found, wanted, what):
    expect(found == wanted, f"{what}: {shortened(found)} instead of {shortened(wanted)}")


def shortened(value):
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:140]} … {text[-140:]} ({len(value)} long)"


def wait_until(holds, what, seconds=WAIT_SECONDS):
    deadline = time.monotonic() + seconds
    while not holds():
        expect(time.monotonic() < deadline, f"not within {seconds} s: {what}")
        time.sleep(0.005)


class Server:
    """A running example; ends by SIGTERM, with 0, when the block that uses it ends."""

    def __init__(self, name, *options, complains=False):
        self.name = name
        self.complains = complains
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [BUILT / name, *options, "--stats", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )
        self.address = self.announced("listening on ")
        self.port = self.address.rpartition(":")[2]
        self.statistics = self.announced("statistics on ")

    def announced(self, start):
        line = self.process.stdout.readline()
        expect(line.startswith(start), f"{self.name} said {line!r}, not where: {self.complaints()}")
        return line[len(start):].rstrip("\n")

    def complaints(self):
        self.errors.seek(0)
        return self.errors.read()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Wrong(f"{self.name} runs on after SIGTERM")
        self.process.stdout.close()
        complaints = self.complaints()
        self.errors.close()
        if kind is None:
            equal(self.process.returncode, 0, f"exit code of {self.name}")
            if not self.complains:
                equal(complaints, "", f"standard error of {self.name}")
        elif complaints:
            print(complaints, file=sys.stderr)

    def page(self, path):
        with urllib.request.urlopen(f"http://{self.statistics}{path}", timeout=5) as answer:
            return answer.read().decode()

    def figures(self):
        return json.loads(self.page("/stats"))

    def resident_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text()
        return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        words = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Socat:
    """socat between a pipe each way and an address."""

    def __init__(self, address, *options):
        self.process = subprocess.Popen(
            ["socat", *options, "-", address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.bytes = b""
        # What others get meanwhile, and nobody looks at.
        self.ignored = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        if not self.process.stdin.closed:
            self.process.stdin.close()
        self.process.stdout.close()

    def send(self, data):
        self.process.stdin.write(data)

    def receive(self):
        """Whether more has come, before the time was up or the end came."""
        output = self.process.stdout
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            ready = select.select([output, *self.ignored], [], [], WAIT_SECONDS)[0]
            for other in self.ignored:
                if other in ready:
                    os.read(other.fileno(), 65_536)
            if output in ready:
                more = os.read(output.fileno(), 65_536)
                self.bytes += more
                return bool(more)
        raise Wrong(f"silence for {WAIT_SECONDS} s; so far {shortened(self.bytes)}")

    def line(self):
        """The next line, without its CR and LF."""
        while b"\r\n" not in self.bytes:
            expect(self.receive(), f"the end behind {shortened(self.bytes)}")
        line, _, self.bytes = self.bytes.partition(b"\r\n")
        return line.decode()

    def expect_line(self, wanted):
        equal(self.line(), wanted, "a line")

    def rest(self):
        """What still comes, until the end."""
        while self.receive():
            pass
        rest, self.bytes = self.bytes, b""
        return rest


def through_socat(address, data, *options):
    """What comes back for so many bytes and an end behind them."""
    done = subprocess.run(
        ["socat", "-t", "5", *options, "-", address], input=data, capture_output=True,
        timeout=WAIT_SECONDS,
    )
    equal(done.returncode, 0, f"exit code of socat: {done.stderr.decode()}")
    return done.stdout


def pattern(count):
    # A prime period, so that no piece of a usual size can be missing or come twice unseen.
    period = bytes(range(251))
    return (period * (count // 251 + 1))[:count]


class Running:
    """Another program, ended by its process number when the block that uses it ends."""

    def __init__(self, words, path):
        # The look whether it listens is a connection that some of them complain about.
        self.process = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: accepts(path), f"{words[0]} listens on {path}")
        except Wrong:
            self.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()


def accepts(path):
    with socket.socket(socket.AF_UNIX) as attempt:
        try:
            attempt.connect(path)
            return True
        except OSError:
            return False


def run(*words, data=None):
    done = subprocess.run(
        [str(word) for word in words], input=data, capture_output=True, timeout=3 * WAIT_SECONDS
    )
    equal(done.returncode, 0, f"exit code of {words[0]}: {done.stderr.decode()}")
    return done.stdout
