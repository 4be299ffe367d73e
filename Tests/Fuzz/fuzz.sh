#!/bin/bash
# Builds every harness beside this file (*Fuzz.swift, one each) and runs it for SECONDS_EACH.
# What is found lies in .build/fuzz/HARNESS.found; a finding ends the run with its exit code.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${SECONDS_EACH:-600}
cases=${TOWLINE_CASES:-../shared/cases}
out=.build/fuzz
mkdir -p "$out"
flags=(-O -sanitize=fuzzer -parse-as-library -swift-version 6
    -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
    -enable-upcoming-feature MemberImportVisibility)
shared=(Tests/Fuzz/FuzzInput.swift Tests/TowlineHTTPTests/ParserRun.swift)
for module in TowlineBytes TowlineHTTP; do
    swiftc "${flags[@]}" -package-name towline -emit-module -emit-library -static \
        -module-name "$module" -I "$out" -emit-module-path "$out/$module.swiftmodule" \
        -o "$out/lib$module.a" Sources/$module/*.swift
done
for harness in ${HARNESS:-$(basename -s .swift Tests/Fuzz/*Fuzz.swift)}; do
    sources=("Tests/Fuzz/$harness.swift")
    # What gives a parser its bytes in pieces.
    if [ "$harness" != URLFuzz ]; then sources+=("${shared[@]}"); fi
    swiftc "${flags[@]}" -module-name "$harness" -I "$out" -L "$out" -lTowlineHTTP -lTowlineBytes \
        -o "$out/$harness" "${sources[@]}"
    files=(Tests/Cases/*.json)
    for file in "$cases"/*.json; do if [ -e "$file" ]; then files+=("$file"); fi; done
    python3 Tests/Fuzz/seeds.py "$harness" "$out/$harness.seeds" "${files[@]}"
    mkdir -p "$out/$harness.corpus" "$out/$harness.found"
    "$out/$harness" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
        -dict=Tests/Fuzz/words.dict -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$out/$harness.found/" "$out/$harness.corpus" "$out/$harness.seeds"
done
