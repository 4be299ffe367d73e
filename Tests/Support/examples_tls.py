"""The checks of the examples that secure connections; `examples.py` runs them."""

import pathlib
import re
import select
import signal
import subprocess
import tempfile
import time

from example_tools import ROOT, Server, WAIT_SECONDS, equal, expect, pattern, run, wait_until

PASSWORD = "correct horse"


class Certificates:
    """What make-certs.sh makes, in a folder that goes with the block that uses it."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        run("bash", ROOT / "Tests/Support/make-certs.sh", self.folder.name)
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def __call__(self, name):
        return f"{self.folder.name}/{name}"

    @property
    def roots(self):
        return self("trust/roots.pem")

    def identity(self, name):
        """Options of echo-server."""
        return "--tls-cert", self(f"server/{name}-chain.pem"), "--tls-key", self(f"server/{name}.key")

    def named(self, name, identity):
        words = f"{name}={self(f'server/{identity}-chain.pem')},{self(f'server/{identity}.key')}"
        return "--tls-name", words


class Client:
    """openssl s_client, with everything that it says."""

    def __init__(self, address, certificates, name, *options):
        self.process = subprocess.Popen(
            [
                "openssl", "s_client", "-connect", address, "-servername", name,
                "-verify_hostname", name, "-CAfile", certificates.roots, "-verify_return_error",
                *options,
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
        )
        self.said = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, data):
        self.process.stdin.write(data)

    def until(self, wanted):
        """Waits until it has said this."""
        deadline = time.monotonic() + WAIT_SECONDS
        while wanted not in self.said:
            left = deadline - time.monotonic()
            expect(left > 0, f"s_client does not say {wanted}, but {self.said[-300:]}")
            if select.select([self.process.stdout], [], [], left)[0]:
                more = self.process.stdout.read(65_536)
                expect(more, f"s_client ends without {wanted}: {self.said[-500:]}")
                self.said += more

    def expect_echo(self, data=b"over TLS\n"):
        self.send(data)
        self.until(data)

    def expect_end(self, wanted):
        """What it has to say when it is refused; it tells of a late alert when it next reads."""
        self.until(wanted)
        expect(self.process.wait(timeout=WAIT_SECONDS) != 0, "s_client ends with 0")


# echo-server


def echo():
    with Certificates() as certificates:
        echo_names(certificates)
        echo_clients(certificates)
        echo_reload(certificates)
        echo_refusals(certificates)


def echo_names(certificates):
    """An identity by default, two by name, and what is spoken inside."""
    options = [
        *certificates.identity("good"), *certificates.named("a.multi.test", "sni-a"),
        *certificates.named("*.wild.test", "wildcard"), "--alpn", "echo/2,echo/1",
    ]
    many = pattern(300_000).replace(b"\n", b" ").replace(b"\r", b" ")
    with Server("echo-server", *options) as server:
        for version in ("-tls1_2", "-tls1_3"):
            for name, subject in (
                ("good.test", b"CN = good.test"), ("a.multi.test", b"CN = a.multi.test"),
                ("x.wild.test", b"CN = *.wild.test"),
            ):
                with Client(server.address, certificates, name, version) as client:
                    client.expect_echo()
                    expect(subject in client.said, f"{name} is not shown {subject}")
        with Client(server.address, certificates, "good.test", "-alpn", "echo/1,echo/2") as client:
            client.until(b"ALPN protocol: echo/2")
        with Client(server.address, certificates, "good.test", "-alpn", "h2") as client:
            client.expect_end(b"no application protocol")
        with Client(server.address, certificates, "good.test", "-quiet") as client:
            client.expect_echo(many + b"\n")
        address = f"https://good.test:{server.port}/"
        said = subprocess.run(
            [
                "curl", "--silent", "--http0.9", "--no-alpn", "--max-time", "1", "--resolve",
                f"good.test:{server.port}:127.0.0.1", "--cacert", certificates.roots, address,
            ],
            capture_output=True, timeout=WAIT_SECONDS,
        ).stdout
        expect(said.startswith(b"GET / HTTP/1.1\r\n"), f"curl is answered {said}")


def echo_clients(certificates):
    """Clients that have to say who they are, or may."""
    alice, eve = (
        (
            "-cert", certificates(f"client/{name}.pem"), "-key", certificates(f"client/{name}.key"),
            "-cert_chain", certificates("ca/int.pem"),
        )
        for name in ("alice", "untrusted")
    )
    authority = "--tls-client-ca", certificates.roots
    server_identity = certificates.identity("good")
    with Server("echo-server", *server_identity, *authority) as server:
        with Client(server.address, certificates, "good.test", *alice) as client:
            client.expect_echo()
        with Client(server.address, certificates, "good.test") as client:
            client.expect_end(b"certificate required")
        with Client(server.address, certificates, "good.test", *eve) as client:
            client.expect_end(b"unknown ca")
    options = *server_identity, *authority, "--tls-client-auth", "optional"
    with Server("echo-server", *options) as server:
        for identity in (alice, ()):
            with Client(server.address, certificates, "good.test", *identity) as client:
                client.expect_echo()
        with Client(server.address, certificates, "good.test", *eve) as client:
            client.expect_end(b"unknown ca")


def echo_reload(certificates):
    """SIGHUP: the next connection is shown what the files have now, if they can be used."""
    with tempfile.TemporaryDirectory() as folder:
        chain, key = pathlib.Path(folder, "chain.pem"), pathlib.Path(folder, "key.pem")

        def lay(name):
            chain.write_bytes(pathlib.Path(certificates(f"server/{name}-chain.pem")).read_bytes())
            key.write_bytes(pathlib.Path(certificates(f"server/{name}.key")).read_bytes())

        lay("good")
        options = "--tls-cert", str(chain), "--tls-key", str(key)
        with Server("echo-server", *options, complains=True) as server:
            with Client(server.address, certificates, "good.test") as first:
                first.expect_echo()
                key.write_text("no key any more")
                server.process.send_signal(signal.SIGHUP)
                wait_until(lambda: "nothing is changed" in server.complaints(), "a complaint")
                with Client(server.address, certificates, "good.test") as client:
                    client.expect_echo()
                lay("sni-b")
                server.process.send_signal(signal.SIGHUP)
                # A signal waits for the turn that a connection may be accepted in.
                wait_until(lambda: shows(server, certificates, "b.multi.test"), "the new one")
                first.expect_echo(b"still here\n")


def shows(server, certificates, name):
    with Client(server.address, certificates, name) as client:
        client.process.stdin.close()
        said = client.process.stdout.read()
        return b"Verify return code: 0 (ok)" in said


def echo_refusals(certificates):
    """Files and options that cannot be used: one line, and the exit code that says whose fault."""
    good = certificates.identity("good")
    for options, code, complaint in (
        (("--tls-cert", "absent"), 1, "absent cannot be read: No such file or directory"),
        ((*good[:3], certificates("server/sni-a.key")), 1, "the private key belongs to none"),
        (("--tls-p12", certificates("client/alice.p12"), "--tls-password", "x"), 1, "is wrong"),
        ((*good, "--tls-client-ca", certificates("client/garbage.pem")), 1, "malformed"),
        ((*good, "--tls-name", "a.test=one"), 2, "--tls-name a.test=one: not valid"),
        ((*good, "--tls-client-auth", "optional"), 2, "needs --tls-client-ca"),
        (("--alpn", "h2"), 2, "--alpn needs --tls-cert or --tls-p12"),
    ):
        done = subprocess.run(
            [ROOT / ".build/release/echo-server", *options], capture_output=True, text=True,
            timeout=WAIT_SECONDS,
        )
        equal(done.returncode, code, f"exit code for {options}")
        first, _, rest = done.stderr.partition("\n")
        expect(first.startswith("echo-server: ") and complaint in first, f"complaint: {first}")
        equal(rest == "", code == 1, "whether there is one line only")
