#!/usr/bin/env python3
"""Writes what a fuzzer begins with, made of files of cases: seeds.py HARNESS FOLDER [FILE...]"""
import base64
import json
import os
import sys


def texts(harness, path):
    """The inputs of one file, as that harness reads them."""
    with open(path) as file:
        cases = json.load(file)
    if harness == "URLFuzz":
        for case in cases.get("cases", []) if isinstance(cases, dict) else []:
            if "input" in case:
                text = case["input"].encode("utf-8", "surrogatepass")
                for choices in (2, 6, 1 | 8):
                    yield bytes([choices]) + text
        return
    if harness in ("ResponseFuzz", "ChunkFuzz"):
        if not isinstance(cases, dict):
            return
        for case in cases.get("cases", []):
            if "request" not in case:
                continue
            parts = case.get("raw_parts") or [{"b64": case["raw_b64"]}]
            # A flood is not worth its bytes: a few times are enough.
            raw = b"".join(
                base64.b64decode(part["b64"]) * min(part.get("times", 1), 3) for part in parts
            )[:4096]
            method = {"HEAD": 2, "CONNECT": 3}.get(case["request"]["method"], 0)
            choices = method | (4 if "upgrade" in case["request"] else 0)
            ending = {"hold": 0, "close": 1, "reset": 2}[case["then"]]
            if harness == "ChunkFuzz":
                if b"chunked\r\n\r\n" not in raw:
                    continue
                raw = raw.split(b"\r\n\r\n", 1)[1]
                choices = 0
            for profile in (0, 16):
                yield bytes([choices | profile, ending, 5]) + raw


def main():
    harness, folder, *files = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    count = 0
    for path in files:
        for text in texts(harness, path):
            with open(os.path.join(folder, f"seed-{count:04}"), "wb") as file:
                file.write(text)
            count += 1
    print(f"{harness}: {count} seeds")


main()
