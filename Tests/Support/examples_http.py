"""The examples that speak HTTP, against python's server and nginx."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

from example_tools import BUILT, WAIT_SECONDS, Wrong, equal, expect, wait_until
from examples_tls import Certificates

PAGE = b"<title>page</title>\n" * 40
PICTURE = bytes(range(256)) * 16

NGINX = """
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors;
events {{ worker_connections 64; }}
http {{
  access_log {folder}/access; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  types {{ text/html html; image/png png; }}
  default_type application/json;
  server {{
    listen 127.0.0.1:{plain}; root {folder}/www;
    location = /d {{ if ($arg_host = nobody.test) {{ return 404 "none"; }} return 200 "127.0.0.1,30"; }}
  }}
  server {{
    listen 127.0.0.1:{tls} ssl; server_name a.multi.test;
    ssl_certificate {certificates}/server/sni-a-chain.pem;
    ssl_certificate_key {certificates}/server/sni-a.key;
    location = /away {{ return 302 https://b.multi.test:{tls}/; }}
    location = /wrong {{ return 302 https://good.test:{tls}/; }}
    location / {{ return 200 "a for $host over $ssl_server_name\\n"; }}
  }}
  server {{
    listen 127.0.0.1:{tls} ssl; server_name b.multi.test;
    ssl_certificate {certificates}/server/sni-b-chain.pem;
    ssl_certificate_key {certificates}/server/sni-b.key;
    location / {{ return 200 "b for $host over $ssl_server_name\\n"; }}
  }}
  server {{
    listen 127.0.0.1:{mutual} ssl;
    ssl_certificate {certificates}/server/good-chain.pem;
    ssl_certificate_key {certificates}/server/good.key;
    ssl_client_certificate {certificates}/trust/roots.pem; ssl_verify_client on; ssl_verify_depth 3;
    location / {{
      default_type application/json;
      return 200 '{{"who":"$ssl_client_s_dn","path":"$uri","on":"$connection","trace":"$http_x_trace"}}';
    }}
  }}
}}
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def listens(port):
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def started(words, ports):
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for port in ports:
            wait_until(lambda: listens(port), f"{words[0]} listens on {port}")
        yield process
    finally:
        process.terminate()
        process.wait(timeout=WAIT_SECONDS)


class Web:
    """nginx with a plain server that also answers lookups, two names on one port, and one server
    that asks who its clients are."""

    def __init__(self, stack):
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        self.certificates = stack.enter_context(Certificates())
        os.chmod(self.folder, 0o755)
        www = pathlib.Path(self.folder, "www")
        www.mkdir()
        (www / "index.html").write_bytes(PAGE)
        (www / "picture.png").write_bytes(PICTURE)
        self.plain, self.tls, self.mutual = free_ports(3)
        configuration = pathlib.Path(self.folder, "nginx.conf")
        configuration.write_text(NGINX.format(
            folder=self.folder, plain=self.plain, tls=self.tls, mutual=self.mutual,
            certificates=self.certificates("."),
        ))
        ports = self.plain, self.tls, self.mutual
        stack.enter_context(started(["nginx", "-e", "/dev/null", "-c", configuration], ports))


def call(name, *words, data="", folder=None):
    return subprocess.run(
        [BUILT / name, *map(str, words)], input=data, capture_output=True, text=True, cwd=folder,
        timeout=WAIT_SECONDS,
    )


def raw_http():
    with contextlib.ExitStack() as stack:
        web = Web(stack)
        [port] = free_ports(1)
        words = [
            "/usr/bin/python3", "-m", "http.server", str(port), "--bind", "127.0.0.1",
            "--directory", f"{web.folder}/www",
        ]
        stack.enter_context(started(words, [port]))
        for port in (port, web.plain):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            typed = "GET / HTTP/1.0\n\nGET /picture.png HTTP/1.0\n\nGET / HTTP/1.0\n\n"
            done = call("raw-http", "127.0.0.1", port, data=typed, folder=folder)
            equal(done.returncode, 0, f"exit code of raw-http: {done.stderr}")
            equal(done.stdout.count("HTTP/1."), 3, "heads shown")
            found = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
            wanted = {"index.html": PAGE, "1-index.html": PAGE, "picture.png": PICTURE}
            equal(found, wanted, "files")
        mutual = [
            "box.test", web.mutual, "--tls", "--ip", "127.0.0.1", "--name", "good.test",
            "--cacert", web.certificates.roots, "--p12", web.certificates("client/alice.p12"),
            "--header", "X-Trace: 42",
        ]
        password = pathlib.Path(web.certificates("client/password.txt")).read_text().strip()
        lines = "POST /one {\"a\":1}\nPUT /two {\"b\":2}\nGET /three\n"
        done = call("raw-http", *mutual, "--password", password, data=lines)
        equal(done.returncode, 0, f"exit code of raw-http: {done.stderr}")
        bodies = [line for line in done.stdout.splitlines() if line.startswith("{")]
        equal(len(bodies), 3, f"bodies: {done.stdout}")
        expect(all("alice" in body.lower() for body in bodies), f"who asks: {bodies}")
        expect(all('"trace":"42"' in body for body in bodies), f"own fields: {bodies}")
        connections = {body.partition('"on":"')[2].partition('"')[0] for body in bodies}
        equal(len(connections), 1, "connections")
        done = call("raw-http", *mutual, "--password", "wrong", data=lines)
        equal(done.returncode, 1, "exit code with a wrong password")
        expect("password" in done.stderr, f"the complaint: {done.stderr}")


def name_by_http():
    with contextlib.ExitStack() as stack:
        web = Web(stack)
        lookup = f"http://127.0.0.1:{web.plain}/d?host=%s"
        common = "--lookup", lookup, "--cacert", web.certificates.roots
        url = f"https://a.multi.test:{web.tls}"
        done = call("name-by-http", f"{url}/", *common)
        equal(done.returncode, 0, f"exit code of name-by-http: {done.stderr}")
        expect("a.multi.test is at 127.0.0.1" in done.stdout, done.stdout)
        expect("server name a.multi.test; certificate for a.multi.test" in done.stdout, done.stdout)
        done = call("name-by-http", f"{url}/away", *common)
        equal(done.returncode, 0, f"exit code of name-by-http: {done.stderr}")
        expect("server name b.multi.test; certificate for b.multi.test" in done.stdout, done.stdout)
        expect("1 redirects" in done.stdout, done.stdout)
        lookups = pathlib.Path(web.folder, "access").read_text().count("/d?host=")
        equal(lookups, 3, "lookups: one a name and program")
        # The server has no certificate for this name, and shows the first one that it has.
        done = call("name-by-http", f"{url}/wrong", *common)
        equal(done.returncode, 60, f"exit code for the wrong name: {done.stderr}")
        expect("good.test" in done.stderr and "a.multi.test" in done.stderr, done.stderr)
        done = call("name-by-http", f"https://nobody.test:{web.tls}/", *common)
        equal(done.returncode, 6, f"exit code without an address: {done.stderr}")
