"""Runs curl and fetch with the same command lines against the same servers.

    compare_curl.py FETCH [WORD ...]

Compares what both write on standard output, the files they leave, and their exit codes, and prints
how many lines agree of how many. With words, only cases whose name or command line has one are run.
Every server listens on a port of 127.0.0.1 that is free, and ends with this program.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import compare_cases

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE.parent.parent / ".build" / "python"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, process):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


class Servers:
    """All servers, and the words that stand for them in command lines."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.words = {"certs": str(folder / "certs"), "unix": str(folder / "odd.socket")}

    def __enter__(self):
        subprocess.run(
            ["bash", str(HERE / "make-certs.sh"), self.words["certs"]],
            check=True, stdout=subprocess.DEVNULL,
        )
        self.root = self.folder / "root"
        (self.root / "folder").mkdir(parents=True)
        for name, content in compare_cases.FILES.items():
            (self.root / name).write_bytes(content)
        (self.root / "folder" / "index.html").write_bytes(b"an index\n")
        (self.root / "page.html").write_bytes(b"<p>a page</p>\n" * 500)
        for path in self.root.rglob("*"):
            os.utime(path, (1_500_000_000, 1_500_000_000))
        self.start_odd()
        self.start_nginx()
        self.start_files()
        self.start_httpbin()
        return self

    def __exit__(self, *reason):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()

    def add(self, name, port, scheme="http"):
        self.words[name] = f"{scheme}://127.0.0.1:{port}"
        self.words[name + "place"] = f"127.0.0.1:{port}"
        self.words[name + "port"] = str(port)

    def start(self, arguments, **options):
        process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, **options)
        self.processes.append(process)
        return process

    def start_odd(self):
        process = self.start(
            [sys.executable, str(HERE / "compare_servers.py"), self.words["certs"],
             self.words["unix"]],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for name, port in json.loads(process.stdout.readline()).items():
            self.add(name, port, "https" if name in ("tls", "mutual") else "http")

    def start_nginx(self):
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        if not os.access(program, os.X_OK):
            return
        plain, tls = free_port(), free_port()
        chain = f"{self.words['certs']}/server/good"
        (self.folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid {self.folder}/nginx.pid; error_log /dev/null;
            events {{}}
            http {{
                access_log off; server_tokens off; default_type text/plain;
                client_body_temp_path {self.folder}/body; proxy_temp_path {self.folder}/proxy;
                fastcgi_temp_path {self.folder}/fastcgi; uwsgi_temp_path {self.folder}/uwsgi;
                scgi_temp_path {self.folder}/scgi;
                types {{ text/html html; }}
                gzip on; gzip_min_length 100;
                server {{
                    listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl;
                    ssl_certificate {chain}-chain.pem; ssl_certificate_key {chain}.key;
                    root {self.root}; client_max_body_size 1k; absolute_redirect off;
                    location /moved {{ return 301 /small.txt; }}
                    location /denied {{ deny all; }}
                }}
            }}
        """)
        process = self.start([
            program, "-e", "/dev/null", "-c", str(self.folder / "nginx.conf"), "-p",
            str(self.folder),
        ])
        if wait_for(plain, process):
            self.add("nginx", plain)
            self.add("nginxtls", tls, "https")

    def start_files(self):
        port = free_port()
        process = self.start(
            [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory",
             str(self.root)],
            stdout=subprocess.DEVNULL,
        )
        if wait_for(port, process):
            self.add("files", port)

    def start_httpbin(self):
        port = free_port()
        code = f"import httpbin; httpbin.app.run(port={port}, threaded=True)"
        path = os.environ.get("TOWLINE_PYTHON_MODULES", str(MODULES))
        process = self.start(
            ["/usr/bin/python3", "-c", code], stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        if wait_for(port, process):
            self.add("httpbin", port)


def normal(data):
    """Output without what no two runs have in common."""
    data = re.sub(rb"(?mi)^Date: [^\r\n]*", b"Date: now", data)
    data = re.sub(rb'"Accept-Encoding": "[^"]*"', b'"Accept-Encoding": "some"', data)
    data = data.replace(b"generated by libcurl!", b"generated by fetch!")
    return re.sub(rb"-{24}[0-9a-zA-Z]{16,24}", b"BOUNDARY", data)


class Outcome:
    def __init__(self, program, case, words, folder):
        folder.mkdir()
        for name, content in compare_cases.FILES.items():
            (folder / name).write_bytes(content)
            os.utime(folder / name, (1_400_000_000, 1_400_000_000))
        tool = pathlib.Path(program).name
        arguments = [part.format(tool=tool, **words) for part in case.arguments]
        environment = {
            name: value for name, value in os.environ.items() if "proxy" not in name.lower()
        }
        environment["HOME"] = str(folder)
        try:
            run = subprocess.run(
                [program, "-q", "-s", "-A", "tester", *arguments], input=case.stdin,
                capture_output=True, timeout=60, cwd=folder, env=environment,
            )
            self.code, self.output, self.errors = run.returncode, run.stdout, run.stderr
        except subprocess.TimeoutExpired:
            self.code, self.output, self.errors = "timeout", b"", b""
        self.code = case.codes.get(self.code, self.code)
        if case.replace:
            before, after = case.replace
            self.output = self.output.replace(before.encode(), after.encode())
        self.output = normal(self.output)
        self.files = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                name = str(path.relative_to(folder))
                content = path.read_bytes()
                kept = name in compare_cases.FILES and content == compare_cases.FILES[name]
                # Times count where they are those of the server.
                old = path.stat().st_mtime < 1_450_000_000 or path.stat().st_mtime == 1.5e9
                if not kept:
                    self.files[name] = (normal(content), old)

    def differences(self, other):
        found = []
        if self.code != other.code:
            found.append(f"exit code {self.code} and {other.code}")
        if self.output != other.output:
            found.append(f"output\n    {self.output[:600]!r}\n    {other.output[:600]!r}")
        if self.files != other.files:
            def show(files):
                return {name: (data[:200], old) for name, (data, old) in files.items()}
            found.append(f"files\n    {show(self.files)}\n    {show(other.files)}")
        return found


def compare(case, fetch, servers, folder):
    curl = Outcome("curl", case, servers.words, folder / f"{case.name}-curl")
    ours = Outcome(fetch, case, servers.words, folder / f"{case.name}-fetch")
    found = curl.differences(ours)
    return found, ours.errors


def main():
    fetch, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not shutil.which("curl"):
        sys.exit("compare-curl: there is no curl")
    with tempfile.TemporaryDirectory(prefix="towline-compare-") as name, \
            Servers(pathlib.Path(name)) as servers:
        cases = [
            case for case in compare_cases.all_cases()
            if (case.only is None or case.only in servers.words)
            and (not words or any(
                word == case.name or word in " ".join(case.arguments) for word in words))
        ]
        for missing in {"nginx", "files", "httpbin"} - set(servers.words):
            print(f"left out: {missing} cannot be started")
        passed = 0
        folder = pathlib.Path(name) / "runs"
        folder.mkdir()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            runs = [(case, pool.submit(compare, case, fetch, servers, folder)) for case in cases]
            for case, run in runs:
                found, errors = run.result()
                if not found:
                    passed += 1
                    continue
                print(f"{case.name}: {' '.join(case.arguments)}")
                for difference in found:
                    print(f"  {difference}")
                if errors:
                    print(f"  {errors.decode(errors='replace').strip()[:300]}")
        print(f"compare-curl: {passed} of {len(cases)} command lines agree")
        sys.exit(0 if passed == len(cases) else 1)


if __name__ == "__main__":
    main()
