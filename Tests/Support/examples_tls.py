"""The checks of the examples that secure connections; `examples.py` runs them."""

import json
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from example_tools import (
    BUILT, ROOT, Server, WAIT_SECONDS, equal, expect, pattern, run, wait_until,
)

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
            [BUILT / "echo-server", *options], capture_output=True, text=True,
            timeout=WAIT_SECONDS,
        )
        equal(done.returncode, code, f"exit code for {options}")
        first, _, rest = done.stderr.partition("\n")
        expect(first.startswith("echo-server: ") and complaint in first, f"complaint: {first}")
        equal(rest == "", code == 1, "whether there is one line only")


# tls-probe


class Other:
    """A server that is not ours, from when it says its port."""

    def __init__(self, words, announcement):
        self.process = subprocess.Popen(
            [str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdin=subprocess.PIPE, text=True,
        )
        found = None
        while not found:
            line = self.process.stdout.readline()
            expect(line, f"{words[0]} ends, or does not say its port")
            found = re.search(announcement, line)
        self.port = found[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def openssl_server(certificates, name, *options):
    words = [
        "openssl", "s_server", "-accept", "127.0.0.1:0", "-www",
        "-cert", certificates(f"server/{name}.pem"), "-key", certificates(f"server/{name}.key"),
        "-cert_chain", certificates(f"server/{name}-chain.pem"), *options,
    ]
    return Other(words, r"^ACCEPT .*:([0-9]+)$")


class Peer(threading.Thread):
    """Serves one connection by a script of turns: what is sent, and after which bytes."""

    def __init__(self, *turns, context=None):
        super().__init__(daemon=True)
        self.turns = turns
        self.context = context
        self.heard = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = str(self.listener.getsockname()[1])
        self.start()

    def run(self):
        with self.listener, self.listener.accept()[0] as connection:
            connection.settimeout(WAIT_SECONDS)
            for awaited, answer in self.turns:
                while awaited not in self.heard and self.hear(connection):
                    pass
                connection.sendall(answer)
            if self.context:
                with self.context.wrap_socket(connection, server_side=True) as secure:
                    secure.recv(1)
            else:
                while self.hear(connection):
                    pass

    def hear(self, connection):
        try:
            more = connection.recv(4_096)
        except ConnectionResetError:
            more = b""
        self.heard += more
        return more


def probe(certificates, host, port, *options, trust=True):
    """Exit code, and what is said on either output."""
    trusted = ["--cacert", certificates.roots] if trust else []
    done = subprocess.run(
        [BUILT / "tls-probe", host, port, *trusted, *options], capture_output=True, text=True,
        timeout=WAIT_SECONDS,
    )
    return done.returncode, done.stdout, done.stderr


def probe_all():
    with Certificates() as certificates:
        probe_offers(certificates)
        probe_refusals(certificates)
        probe_clients(certificates)
        probe_upgrades(certificates)
    for (host, port), code in ((("localhost", "1"), 7), (("no-such-host.test", "1"), 6)):
        equal(probe(None, host, port, trust=False)[0], code, f"exit code for {host}:{port}")
    for words in ((), ("localhost",), ("localhost", "0"), ("localhost", "1", "--tls-min", "1.1")):
        done = subprocess.run([BUILT / "tls-probe", *words], capture_output=True, text=True)
        equal(done.returncode, 2, f"exit code for {words}")
        expect("usage: tls-probe HOST PORT" in done.stderr, f"usage: {done.stderr}")


def probe_offers(certificates):
    leaf = (
        "certificate 0: O=Test, CN=good.test\n  issuer: O=Test, CN=Test Intermediate\n"
        "  names: good.test, localhost, 127.0.0.1, ::1\n"
        "  valid: 2020-01-01 to 2049-12-31 23:59:59\n"
    )
    for options, chosen, wanted in (
        ((), (), ("version: TLS 1.3\ncipher: TLS_AES_256_GCM_SHA384\ngroup: X25519\n", "yes")),
        (("-num_tickets", "0"), (), ("version: TLS 1.3\n", "no")),
        (("-tls1_2",), (), ("version: TLS 1.2\n", "yes")),
        ((), ("--tls-max", "1.2"), ("version: TLS 1.2\n", "yes")),
        (("-alpn", "h2"), ("--alpn", "http/1.1,h2"), ("application protocol: h2\n", "yes")),
    ):
        with openssl_server(certificates, "good", *options) as server:
            code, said, complaint = probe(certificates, "127.0.0.1", server.port, *chosen)
            equal((code, complaint), (0, ""), f"tls-probe, s_server {options}")
            for text in (f"connected to 127.0.0.1:{server.port}\n", leaf, wanted[0]):
                expect(text in said, f"{text!r} is not in {said}")
            expect(said.endswith(f"resumed: {wanted[1]}\n"), f"resumed, s_server {options}: {said}")
    pins = dict(
        line.split("\t") for line in pathlib.Path(certificates("pins.tsv")).read_text().splitlines()
    )
    with openssl_server(certificates, "good") as server:
        equal(probe(certificates, "localhost", server.port, "--pin", pins["good"])[0], 0, "a pin")
        code, _, complaint = probe(certificates, "localhost", server.port, "--pin", pins["sni-a"])
        expect(code == 60 and "none of the policy" in complaint, f"another pin: {code}, {complaint}")


def probe_refusals(certificates):
    """The same verdicts as curl's, by the same codes."""
    for name, wanted, code, complaint in (
        ("good", "good.test", 0, ""), ("expired", "good.test", 60, "expired on 2020-02-01"),
        ("good", "other.test", 60, "certificate is for good.test"),
        ("self-signed", "good.test", 60, "good.test"),
        ("missing-int", "good.test", 60, "no trusted issuer for \"Test Intermediate\""),
    ):
        with openssl_server(certificates, name) as server:
            found = probe(certificates, "127.0.0.1", server.port, "--name", wanted)
            yardstick = subprocess.run(
                [
                    "curl", "--silent", "--cacert", certificates.roots, "--output", "/dev/null",
                    "--connect-to", f"{wanted}:443:127.0.0.1:{server.port}", f"https://{wanted}/",
                ],
                timeout=WAIT_SECONDS,
            ).returncode
            equal((found[0], yardstick), (code, code), f"{name} for {wanted}: {found[2]}")
            expect(complaint in found[2], f"{name} for {wanted}: {found[2]}")
            expect(found[2].count("\n") == (code != 0), f"more than a line: {found[2]}")
    with openssl_server(certificates, "good") as server:
        code, _, complaint = probe(certificates, "localhost", server.port, trust=False)
        expect(code == 60 and "Looked in: " in complaint, f"the system's roots: {complaint}")
    with openssl_server(certificates, "good", "-tls1_2") as server:
        code, _, complaint = probe(certificates, "localhost", server.port, "--tls-min", "1.3")
        equal((code, "no version" in complaint), (35, True), f"no common version: {complaint}")
    with Server("echo-server", *certificates.identity("good"), "--alpn", "a") as server:
        code, _, complaint = probe(certificates, "localhost", server.port, "--alpn", "b")
        equal((code, "no application protocol" in complaint), (35, True), f"no common protocol: {complaint}")
    # Its first words are no TLS.
    code, _, complaint = probe(certificates, "127.0.0.1", Peer((b"", b"220 mail\r\n")).port)
    equal((code, "220 mail" in complaint), (35, True), f"a mail server: {complaint}")


def probe_clients(certificates):
    for version in "1.2", "1.3":
        options = "-Verify", "3", "-CAfile", certificates.roots, "-verify_return_error"
        with openssl_server(certificates, "good", *options) as server:
            choice = "--tls-max", version
            code, _, complaint = probe(certificates, "localhost", server.port, *choice)
            equal((code, "sent alert" in complaint), (35, True), f"without: {complaint}")
            choice += "--p12", certificates("client/alice.p12"), "--password"
            code, _, complaint = probe(certificates, "localhost", server.port, *choice, PASSWORD)
            equal((code, complaint), (0, ""), "with a certificate")
            code, _, complaint = probe(certificates, "localhost", server.port, *choice, "wrong")
            equal((code, "password is wrong" in complaint), (2, True), "a wrong password")


def probe_upgrades(certificates):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates("server/good-chain.pem"), certificates("server/good.key"))
    imap = (b"", b"* OK ready\r\n"), (b"a STARTTLS\r\n", b"* a word\r\na OK go on\r\n")
    postgres = ((b"\0\0\0\x08\x04\xd2\x16\x2f", b"S"),)
    for kind, turns in ("imap", imap), ("postgres", postgres):
        peer = Peer(*turns, context=context)
        code, said, complaint = probe(certificates, "localhost", peer.port, "--starttls", kind)
        equal((code, complaint), (0, ""), f"--starttls {kind}")
        expect("version: TLS 1.3\n" in said, f"--starttls {kind}: {said}")
    for kind, turns, answer in (
        ("imap", imap[:1] + ((b"a STARTTLS\r\n", b"a BAD what?\r\n"),), "a BAD what?"),
        ("postgres", ((b"\x2f", b"N"),), '"N"'),
    ):
        peer = Peer(*turns)
        code, _, complaint = probe(certificates, "localhost", peer.port, "--starttls", kind)
        equal((code, answer in complaint), (35, True), f"a refused {kind}: {complaint}")
    with mail_server(certificates, "good") as server:
        code, said, complaint = probe(certificates, "localhost", server.port, "--starttls", "smtp")
        equal((code, complaint), (0, ""), "--starttls smtp")


# mail-submit

MAIL_SERVER = """
import asyncio, json, ssl, sys
from aiosmtpd.smtp import SMTP, AuthResult

class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 fine"

    async def handle_DATA(self, server, session, envelope):
        mail = [
            session.auth_data, session.ssl is not None, envelope.mail_from, envelope.rcpt_tos,
            envelope.content.decode(),
        ]
        print(json.dumps(mail), flush=True)
        return "250 taken as 7"

def check(server, session, envelope, mechanism, data):
    if (data.login, data.password) != (b"alice", "grün".encode()):
        return AuthResult(success=False, handled=False)
    return AuthResult(success=True, auth_data=mechanism)

async def main():
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*sys.argv[1:3])
    loop = asyncio.get_running_loop()
    options = {}
    if sys.argv[3:]:
        options = {"authenticator": check, "auth_required": True}
        options["auth_exclude_mechanism"] = sys.argv[3].split()
    make = lambda: SMTP(
        Handler(), tls_context=context, require_starttls=True, loop=loop, **options
    )
    server = await loop.create_server(make, "127.0.0.1", 0)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()

asyncio.run(main())
"""


def mail_server(certificates, name, *excluded):
    """aiosmtpd, which takes nothing in clear, and prints what it takes.

    With the names of ways to log in, it wants a login by another one."""
    files = certificates(f"server/{name}-chain.pem"), certificates(f"server/{name}.key")
    return Other(["/usr/bin/python3", "-c", MAIL_SERVER, *files, *excluded], r"^port ([0-9]+)$")


def submit(certificates, port, message, *options, recipients=("b@good.test",)):
    words = [word for recipient in recipients for word in ("--to", recipient)]
    done = subprocess.run(
        [
            BUILT / "mail-submit", "127.0.0.1", port, "--from", "a@a.test", *words,
            "--cacert", certificates.roots, *options,
        ],
        input=message, capture_output=True, text=True, timeout=WAIT_SECONDS,
    )
    return done.returncode, done.stdout, done.stderr


def mail():
    with Certificates() as certificates:
        mail_taken(certificates)
        mail_logged_in(certificates)
        mail_refused(certificates)


def mail_taken(certificates):
    message = "Subject: dots and umlauts\n\n.\n..two\n.one\ngrüße\n\n" + 3_000 * "a line\n"
    with mail_server(certificates, "good") as server:
        recipients = ["b@good.test", "c@good.test"]
        code, said, complaint = submit(certificates, server.port, message, recipients=recipients)
        equal((code, complaint), (0, ""), "mail-submit")
        expect(re.fullmatch("secured: TLS 1.3, .*\ntaken: 250 taken as 7\n", said), said)
        mail = json.loads(server.process.stdout.readline())
        equal(mail[:4], [None, True, "a@a.test", recipients], "the envelope")
        equal(mail[4], message.replace("\n", "\r\n"), "the message")
        for recipients, complaint in (
            (["b@good.test", "nobody@good.test"], "answers RCPT TO:<nobody@good.test> with"),
        ):
            found = submit(certificates, server.port, message, recipients=recipients)
            equal((found[0], complaint in found[2]), (1, True), f"a refused address: {found}")
    for options in ((), ("--to", "b@good.test\r\nDATA")):
        found = submit(certificates, "1", message, *options, recipients=())
        equal((found[0], "--to" in found[2]), (2, True), f"no address: {found}")


def mail_logged_in(certificates):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as right, \
            tempfile.NamedTemporaryFile("w") as wrong:
        print("grün", file=right, flush=True)
        print("no secret", file=wrong, flush=True)
        for way, excluded in (("PLAIN", "LOGIN"), ("LOGIN", "PLAIN")):
            with mail_server(certificates, "good", excluded) as server:
                login = ("--login", "alice", "--password-file")
                found = submit(certificates, server.port, "text\n", *login, right.name)
                equal((found[0], found[2]), (0, ""), f"a login by {way}: {found}")
                equal(json.loads(server.process.stdout.readline())[:2], [way, True], way)
                found = submit(certificates, server.port, "text\n", *login, wrong.name)
                refused = "AUTH PLAIN" if way == "PLAIN" else "the password"
                complaint = f'the server answers {refused} with "535 '
                equal((found[0], complaint in found[2]), (1, True), f"a wrong password: {found}")
                found = submit(certificates, server.port, "text\n")
                complaint = 'answers MAIL FROM:<a@a.test> with "530 '
                equal((found[0], complaint in found[2]), (1, True), f"no login: {found}")
        with mail_server(certificates, "good", "LOGIN PLAIN") as server:
            found = submit(certificates, server.port, "text\n", *login, right.name)
            complaint = "the server offers no login by PLAIN or LOGIN"
            equal((found[0], complaint in found[2]), (1, True), f"no known way: {found}")


def mail_refused(certificates):
    """Scenario 13: whatever is wrong with the offer, nothing is sent in clear."""
    greeting, offer = (b"", b"220 mail\r\n"), b"250-mail\r\n250-STARTTLS\r\n250 HELP\r\n"
    hello, ask = b"EHLO localhost\r\n", b"STARTTLS\r\n"
    for turns, heard, complaint in (
        ([(hello, b"250-mail\r\n250 HELP\r\n")], hello, "does not offer STARTTLS"),
        (
            [(hello, offer), (ask, b"454 not now\r\n")], hello + ask,
            'answers STARTTLS with "454 not now"',
        ),
        (
            [(hello, offer), (ask, b"220 go on\r\n250 all is well\r\n")], hello + ask,
            "sent 17 bytes in clear behind its consent",
        ),
    ):
        peer = Peer(greeting, *turns)
        code, said, found = submit(certificates, peer.port, "Subject: secret\n\nsecret\n")
        peer.join(WAIT_SECONDS)
        equal((code, said, peer.heard), (1, "", heard), f"{complaint}: {found}")
        expect(complaint in found and found.count("\n") == 1, f"complaint: {found}")
        expect("nothing was submitted" in found, f"complaint: {found}")
    for name, options, complaint in (
        ("wrong-host", (), "certificate is for wrong.test, not 127.0.0.1"),
        ("expired", ("--name", "good.test"), "expired on 2020-02-01"),
    ):
        with mail_server(certificates, name) as server:
            code, said, found = submit(certificates, server.port, "secret\n", *options)
            equal((code, said), (1, ""), f"{name}: {found}")
            expect(complaint in found, f"complaint: {found}")
