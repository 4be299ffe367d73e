#!/usr/bin/env python3
"""A peer that breaks a rule of TLS on purpose, and says what became of it.

    rule-breaker.py client PORT CASE        connects to 127.0.0.1:PORT
    rule-breaker.py server PEM KEY CASE     listens, prints its port, serves one connection

Ends with a line: `alert NUMBER` for what the other side said, `end`, `reset`, `data`.
"""
import socket
import sys

from tlslite.api import HandshakeSettings, TLSConnection, X509CertChain, parsePEMKey
from tlslite.errors import TLSAbruptCloseError, TLSLocalAlert, TLSRemoteAlert
from tlslite.messages import ApplicationData, ClientHello, HelloRequest


def settings(case):
    chosen = HandshakeSettings()
    if case == "old-version":
        chosen.minVersion, chosen.maxVersion = (3, 1), (3, 1)
    elif case.endswith("-1.2"):
        chosen.minVersion, chosen.maxVersion = (3, 3), (3, 3)
    return chosen


def send(connection, message):
    """Encrypts and sends one record, whatever is in it."""
    for _ in connection._recordLayer.sendRecord(message):
        pass


def break_rule(connection, plain, case):
    case = case.removesuffix("-1.2")
    if case == "oversized":
        send(connection, ApplicationData().create(bytearray(17_500)))
    elif case == "empty-records":
        for _ in range(20_000):
            send(connection, ApplicationData().create(bytearray()))
    elif case == "second-hello":
        hello = ClientHello().create((3, 3), bytearray(32), bytearray(), [0x1301, 0xC02F])
        send(connection, hello)
    elif case == "damage":
        plain.sendall(b"\x17\x03\x03\x00\x30" + bytes(48))
    elif case == "clear":
        plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
    elif case == "hello-request":
        send(connection, HelloRequest().create())
        connection.sendall(b"and on\n")
    elif case == "cut":
        connection.sendall(b"half")
        plain.shutdown(socket.SHUT_WR)


def run(plain, case, handshake):
    connection = TLSConnection(plain)
    connection.closeSocket = True
    connection.ignoreAbruptClose = False
    try:
        handshake(connection)
        break_rule(connection, plain, case)
        while True:
            data = connection.read(max=65_536)
            print("data" if data else "end", flush=True)
            if not data:
                break
    except TLSRemoteAlert as alert:
        print("alert", alert.description)
    except TLSLocalAlert as alert:
        print("own alert", alert.description)
    except TLSAbruptCloseError:
        print("end")
    except OSError as error:
        print("reset", error.errno)


def main():
    plain = None
    if sys.argv[1] == "client":
        case = sys.argv[3]
        plain = socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=10)
        run(plain, case, lambda c: c.handshakeClientCert(settings=settings(case)))
    else:
        case = sys.argv[4]
        chain = X509CertChain()
        chain.parsePemList(open(sys.argv[2]).read())
        key = parsePEMKey(open(sys.argv[3]).read(), private=True)
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        plain, _ = listener.accept()
        plain.settimeout(10)
        chosen = settings(case)
        run(
            plain,
            case,
            lambda c: c.handshakeServer(certChain=chain, privateKey=key, settings=chosen),
        )


main()
