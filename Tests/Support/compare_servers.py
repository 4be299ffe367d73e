"""Servers with odd behaviours, for comparing clients: each on a port of 127.0.0.1 that is free.

Run as a program it serves until its standard input ends, and prints the ports first.
"""

import base64
import gzip
import hashlib
import json
import os
import re
import socket
import socketserver
import ssl
import struct
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Programs may say these in their own words. `Expect` is their own business for small bodies, and
# has a path of its own, /expect.
HIDDEN = {"user-agent", "host", "accept-encoding", "expect"}


class Odd(BaseHTTPRequestHandler):
    """Answers by path: /status/404, /redirect/3, /chunked, /gzip, /cut, /echo and others."""

    protocol_version = "HTTP/1.1"
    server_version = "odd"
    sys_version = ""

    def version_string(self):
        return "odd"

    def log_message(self, *arguments):
        pass

    def date_time_string(self, timestamp=None):
        return "Sun, 06 Nov 1994 08:49:37 GMT"

    def handle_expect_100(self):
        if self.path.startswith("/no-continue"):
            self.send_response_only(417)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False
        return super().handle_expect_100()

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            whole = b""
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                part = self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    return whole
                whole += part
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, content, status=200, fields=(), length=True):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        if length:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def raw(self, data, close=True):
        self.wfile.write(data)
        self.wfile.flush()
        if close:
            self.close_connection = True

    def any(self):
        body = self.body()
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        action = getattr(self, "do_" + parts[0].replace("-", "_"), None)
        if action is None or parts[0].isupper():
            return self.answer(b"what is " + path.encode() + b"\n", 404)
        return action(parts[1:], query, body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_CUSTOM = any

    def do_echo(self, parts, query, body):
        """The request, without what two programs may say differently."""
        kind = self.headers.get("Content-Type", "")
        mark = re.search("boundary=([^;]*)", kind)
        fields = sorted(
            (name.lower(), value) for name, value in self.headers.items()
            if name.lower() not in HIDDEN and (name.lower(), value) != ("content-length", "0")
        )
        fields = [
            (name, value.replace("; ", ";") if name == "cookie" else value.strip())
            for name, value in fields
        ]
        if mark:
            boundary = mark.group(1)
            body = body.replace(boundary.encode(), b"BOUNDARY")
            fields = [
                (name, value.replace(boundary, "BOUNDARY")) for name, value in fields
                if name != "content-length"
            ]
        lines = [f"{self.command} {self.path} {self.request_version}"]
        lines += [f"{name}: {value}" for name, value in fields]
        digest = hashlib.sha256(body).hexdigest()
        shown = body.decode("latin-1") if len(body) < 4096 else digest
        text = "\n".join(lines) + f"\n\n{len(body)} {shown}\n"
        self.answer(text.encode("latin-1"), fields=[("Content-Type", "text/plain")])

    def do_expect(self, parts, query, body):
        self.answer((self.headers.get("Expect", "nothing") + "\n").encode())

    def do_agent(self, parts, query, body):
        text = "|".join(self.headers.get_all("User-Agent") or ["none"])
        self.answer((text + "\n").encode())

    def do_host(self, parts, query, body):
        name = (self.headers.get("Host") or "none").split(":")[0]
        self.answer((name + "\n").encode())

    def do_encodings(self, parts, query, body):
        value = self.headers.get("Accept-Encoding", "none")
        self.answer(("gzip" if "gzip" in value else value).encode() + b"\n")

    def do_status(self, parts, query, body):
        fields = [("Content-Type", "text/plain")]
        status = int(parts[0])
        if status in (204, 304):
            self.send_response(status)
            self.end_headers()
            return
        self.answer(f"status {status}\n".encode(), status, fields)

    def do_redirect(self, parts, query, body):
        """/redirect/COUNT[/STATUS]: that many redirects, then the echo."""
        count = int(parts[0])
        status = int(parts[1]) if len(parts) > 1 else 302
        place = f"/redirect/{count - 1}/{status}" if count > 1 else "/echo"
        self.answer(b"elsewhere\n", status, [("Location", place)])

    def do_to(self, parts, query, body):
        """/to/STATUS?URL: to wherever the query says."""
        self.answer(b"", int(parts[0]), [("Location", query)])

    def do_chunked(self, parts, query, body):
        self.raw(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nX-Trailer: yes\r\n\r\n",
            close=False,
        )

    def do_close(self, parts, query, body):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nup to the end")

    def do_old(self, parts, query, body):
        self.raw(b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\nold\n")

    def do_bare(self, parts, query, body):
        self.raw(b"no head at all\n")

    def do_empty(self, parts, query, body):
        self.close_connection = True

    def do_reset(self, parts, query, body):
        self.connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self.close_connection = True
        self.connection.close()

    def do_cut(self, parts, query, body):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")

    def do_cut_chunk(self, parts, query, body):
        self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nonly")

    def do_bad_chunk(self, parts, query, body):
        self.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nno\r\n0\r\n\r\n")

    def do_bad_length(self, parts, query, body):
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nbody")

    def do_version(self, parts, query, body):
        self.raw(b"HTTP/7.1 200 OK\r\nContent-Length: 2\r\n\r\nno")

    def do_early(self, parts, query, body):
        self.raw(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
            b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhints\n",
            close=False,
        )

    def do_no_reason(self, parts, query, body):
        self.raw(b"HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\nok\n", close=False)

    def do_no_continue(self, parts, query, body):
        self.answer(f"{len(body)} bytes\n".encode())

    def do_slow(self, parts, query, body):
        """/slow/SECONDS: nothing for that long."""
        time.sleep(float(parts[0]))
        self.answer(b"at last\n")

    def do_drip(self, parts, query, body):
        """/drip/SECONDS: a byte, and the rest that much later."""
        self.send_response(200)
        self.send_header("Content-Length", "10")
        self.end_headers()
        self.wfile.write(b"0")
        self.wfile.flush()
        time.sleep(float(parts[0]))
        self.wfile.write(b"123456789")

    def coded(self, coding, content):
        self.answer(content, fields=[("Content-Encoding", coding)])

    def do_gzip(self, parts, query, body):
        self.coded("gzip", gzip.compress(b"squeezed " * 1000, mtime=0))

    def do_deflate(self, parts, query, body):
        self.coded("deflate", zlib.compress(b"squeezed " * 1000))

    def do_raw_deflate(self, parts, query, body):
        machine = zlib.compressobj(wbits=-15)
        self.coded("deflate", machine.compress(b"squeezed " * 1000) + machine.flush())

    def do_bad_gzip(self, parts, query, body):
        self.coded("gzip", b"this is not gzip at all")

    def do_unknown_coding(self, parts, query, body):
        self.coded("rot13", b"uryyb")

    def do_basic(self, parts, query, body):
        """/basic/USER/PASSWORD"""
        wanted = base64.b64encode(":".join(parts).encode()).decode()
        if self.headers.get("Authorization") == "Basic " + wanted:
            return self.answer(b"you may\n")
        field = ("WWW-Authenticate", 'Basic realm="odd"')
        return self.answer(b"who are you?\n", 401, [field])

    def do_digest(self, parts, query, body):
        """/digest/USER/PASSWORD"""
        given = self.headers.get("Authorization", "")
        values = dict(re.findall(r'(\w+)="?([^",]*)"?', given))

        def md5(text):
            return hashlib.md5(text.encode()).hexdigest()

        if given.startswith("Digest"):
            first = md5(f"{parts[0]}:odd:{parts[1]}")
            second = md5(f"{self.command}:{self.path}")
            middle = ":".join(values.get(k, "") for k in ("nonce", "nc", "cnonce", "qop"))
            if values.get("response") == md5(f"{first}:{middle}:{second}"):
                return self.answer(b"proved\n")
        field = ("WWW-Authenticate", 'Digest realm="odd", nonce="abc", qop="auth"')
        return self.answer(b"prove it\n", 401, [field])

    def do_bearer(self, parts, query, body):
        self.answer((self.headers.get("Authorization", "nothing") + "\n").encode())

    def do_range(self, parts, query, body):
        """Ranges of 26 letters, by the simplest of rules."""
        content = b"abcdefghijklmnopqrstuvwxyz"
        mark = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not mark:
            return self.answer(content)
        first, last = mark.groups()
        if not first:
            start, end = max(0, 26 - int(last)), 25
        else:
            start, end = int(first), min(25, int(last or 25))
        if start > 25:
            return self.answer(b"too far\n", 416, [("Content-Range", "bytes */26")])
        field = ("Content-Range", f"bytes {start}-{end}/26")
        return self.answer(content[start:end + 1], 206, [field])

    def do_disposition(self, parts, query, body):
        """/disposition?NAME"""
        field = ("Content-Disposition", f'attachment; filename="{query}"')
        self.answer(b"saved\n", fields=[field])

    def do_cookies(self, parts, query, body):
        """Sets what the query says, and shows what came."""
        fields = [("Set-Cookie", pair) for pair in query.split("&") if pair]
        self.answer((self.headers.get("Cookie", "none") + "\n").encode(), fields=fields)

    def do_tag(self, parts, query, body):
        if self.headers.get("If-None-Match") == '"one"':
            self.send_response(304)
            self.send_header("ETag", '"one"')
            self.end_headers()
            return
        self.answer(b"tagged\n", fields=[("ETag", '"one"')])

    def do_modified(self, parts, query, body):
        field = ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
        self.answer(b"as it was\n", fields=[field])

    def do_flaky(self, parts, query, body):
        """/flaky/NAME/COUNT: 503 that often, then 200."""
        seen = self.server.seen.get(parts[0], 0)
        self.server.seen[parts[0]] = seen + 1
        if seen < int(parts[1]):
            return self.answer(b"not yet\n", 503)
        return self.answer(f"after {seen}\n".encode())

    def do_twice(self, parts, query, body):
        self.answer(b"twice\n", fields=[("X-One", "1"), ("X-Two", "a")])

    def do_large(self, parts, query, body):
        """/large/BYTES"""
        count = int(parts[0])
        self.answer((b"0123456789abcde\n" * (count // 16 + 1))[:count])

    def do_port(self, parts, query, body):
        """Whether the connection is the one of the request before."""
        port = self.client_address[1]
        before = self.server.seen.get("port")
        self.server.seen["port"] = port
        self.answer(b"same\n" if before == port else b"new\n")

    def do_early_refusal(self, parts, query, body):
        self.answer(b"no more\n", 413, [("Connection", "close")])


class Server(ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET
    request_queue_size = 128

    def __init__(self, address, handler):
        self.seen = {}
        super().__init__(address, handler)

    def handle_error(self, request, client_address):
        pass


class UnixServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, path, handler):
        self.seen = {}
        self.server_name, self.server_port = "unix", 0
        super().__init__(path, handler)

    def get_request(self):
        connection, _ = super().get_request()
        return connection, ("unix", 0)

    def handle_error(self, request, client_address):
        pass


def secure(server, certificates, name, client_roots=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    chain = f"{certificates}/server/{name}-chain.pem"
    context.load_cert_chain(chain, f"{certificates}/server/{name}.key")
    if client_roots:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_roots)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    return server


def main():
    certificates, unix = sys.argv[1:3]
    roots = f"{certificates}/trust/roots.pem"
    servers = {
        "plain": Server(("127.0.0.1", 0), Odd),
        "other": Server(("127.0.0.1", 0), Odd),
        "tls": secure(Server(("127.0.0.1", 0), Odd), certificates, "good"),
        "mutual": secure(Server(("127.0.0.1", 0), Odd), certificates, "good", roots),
    }
    for server in list(servers.values()) + [UnixServer(unix, Odd)]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ports = {name: server.server_address[1] for name, server in servers.items()}
    print(json.dumps(ports), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
