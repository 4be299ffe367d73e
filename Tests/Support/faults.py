#!/usr/bin/env python3
"""Has the kernel refuse calls of a program that connects, talks and ends again and again.

For each system call in use, and for each way in which its manual page says it may fail, `soak`
is run under strace, which refuses some of the calls. Connections may fail then; a wrong byte, a
missing farewell, a hang, a leak or a crash is an error. Where a failure must not even be seen, as
an interruption, no connection may fail either.

    make faults                             all of them
    python3 Tests/Support/faults.py send    those of calls whose names contain a word
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOAK = ROOT / ".build/release/Soak"
CYCLES = 400
SECONDS = 60

# The call, what is injected into it, from which call on and how often, and whether connections may
# fail for it. A step of 1 would refuse every call, which nobody survives.
TOLERANT, STRICT = True, False
FAULTS = [
    ("recvfrom", "error=EINTR", "3+5", STRICT),
    ("recvfrom", "error=EAGAIN", "3+5", STRICT),
    ("recvfrom", "error=ECONNRESET", "50+37", TOLERANT),
    ("recvfrom", "error=ENOMEM", "50+37", TOLERANT),
    ("recvfrom", "error=ETIMEDOUT", "50+37", TOLERANT),
    ("sendto", "error=EINTR", "3+5", STRICT),
    ("sendto", "error=EAGAIN", "3+4", STRICT),
    ("sendto", "error=ENOBUFS", "50+37", TOLERANT),
    ("sendto", "error=EPIPE", "50+37", TOLERANT),
    ("sendto", "error=ECONNRESET", "50+37", TOLERANT),
    ("sendfile", "error=EINTR", "3+5", STRICT),
    ("sendfile", "error=EAGAIN", "3+4", STRICT),
    ("sendfile", "error=EINVAL", "3+2", STRICT),
    ("sendfile", "error=EIO", "20+31", TOLERANT),
    ("accept4", "error=EINTR", "3+5", STRICT),
    ("accept4", "error=ECONNABORTED", "3+5", STRICT),
    ("accept4", "error=EPERM", "3+5", STRICT),
    ("accept4", "error=EPROTO", "3+5", STRICT),
    ("accept4", "error=EMFILE", "5+50", STRICT),
    ("accept4", "error=ENOMEM", "5+50", STRICT),
    ("accept4", "error=EAGAIN", "3+5", STRICT),
    ("epoll_ctl", "error=ENOMEM", "30+41", TOLERANT),
    ("epoll_ctl", "error=ENOSPC", "30+41", TOLERANT),
    ("epoll_pwait2", "error=EINTR", "3+3", STRICT),
    ("epoll_pwait2", "error=ENOSYS", "5", STRICT),
    ("epoll_pwait2", "error=EPERM", "5", STRICT),
    ("socket", "error=EMFILE", "20+31", TOLERANT),
    ("socket", "error=ENOBUFS", "20+31", TOLERANT),
    ("socket", "error=EACCES", "20+31", TOLERANT),
    ("bind", "error=EADDRINUSE", "2+2", TOLERANT),
    ("listen", "error=EADDRINUSE", "2+2", TOLERANT),
    ("connect", "error=ECONNREFUSED", "20+31", TOLERANT),
    ("connect", "error=EADDRNOTAVAIL", "20+31", TOLERANT),
    ("connect", "error=ENETUNREACH", "20+31", TOLERANT),
    ("setsockopt", "error=EINVAL", "30+41", TOLERANT),
    ("setsockopt", "error=ENOPROTOOPT", "30+41", TOLERANT),
    ("getsockopt", "error=ENOBUFS", "30+41", TOLERANT),
    ("getsockname", "error=ENOBUFS", "30+41", TOLERANT),
    ("getpeername", "error=ENOTCONN", "30+41", TOLERANT),
    ("shutdown", "error=ENOTCONN", "3+3", TOLERANT),
    ("epoll_create1", "error=EMFILE", "1", TOLERANT),
    ("eventfd2", "error=EMFILE", "1", TOLERANT),
]


def run(call, fault, when, is_tolerant):
    """Runs one; what went wrong, in words, or nothing."""
    with tempfile.NamedTemporaryFile() as log:
        words = ["strace", "-f", "-qq", "-o", log.name, "-e", f"trace={call}"]
        words += ["-e", f"inject={call}:{fault}:when={when}"]
        words += [SOAK, "--cycles", str(CYCLES), "--seconds", str(SECONDS), "--quiet"]
        if is_tolerant:
            words += ["--tolerant"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS * 3)
        except subprocess.TimeoutExpired:
            return "it hangs"
        refused = len(re.findall(r"\(INJECTED\)", pathlib.Path(log.name).read_text()))
    last = done.stdout.strip().splitlines()[-1:] or [""]
    print(f"{call:<14}{fault:<24}{when:<8}{refused:>6} refused  {last[0]}", flush=True)
    if done.returncode != 0:
        return f"ended with {done.returncode}\n{done.stdout}{done.stderr}"
    if refused == 0:
        return "no call was refused: the fault is out of date"
    return None


def main():
    wanted = sys.argv[1:]
    if not SOAK.exists():
        sys.exit(f"faults: {SOAK} is absent; `make faults` builds it")
    failed = []
    for fault in FAULTS:
        if wanted and not any(word in fault[0] for word in wanted):
            continue
        problem = run(*fault)
        if problem:
            failed.append(fault)
            print(f"faults: {fault[0]} {fault[1]}: {problem}", flush=True)
    print(f"{len(FAULTS)} faults, {len(failed)} not survived" if not wanted else "done")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
