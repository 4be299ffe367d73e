#!/usr/bin/env bash
# Makes the reference of each library in .build/docs; a warning of DocC is a failure.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "$0")/../.."

# The toolchain has a docc of its own, beside swift and not always in PATH.
docc=$(dirname "$(realpath "$(command -v swift)")")/docc
[ -x "$docc" ] || docc=$(command -v docc) || {
    echo "docs: there is no docc beside swift or in PATH" >&2
    exit 1
}

out=.build/docs
copies=.build/symbol-graphs
rm -rf "$out" "$copies" .build/*/symbolgraph
mkdir -p "$out"
swift package dump-symbol-graph --minimum-access-level public --skip-synthesized-members \
    --skip-inherited-docs

for module in Towline TowlineTestKit; do
    graphs=$copies/$module
    mkdir -p "$graphs"
    # The module's own, and one for each other module whose types it adds to.
    cp .build/*/symbolgraph/"$module".symbols.json .build/*/symbolgraph/"$module"@*.symbols.json \
        "$graphs"
    if ! grep -q '"precise"' "$graphs/$module.symbols.json"; then
        echo "docs: $module has nothing public"
        continue
    fi
    catalogue=()
    [ -d "Sources/$module/$module.docc" ] && catalogue=("Sources/$module/$module.docc")
    "$docc" convert "${catalogue[@]}" --additional-symbol-graph-dir "$graphs" \
        --fallback-display-name "$module" --fallback-bundle-identifier "$module" \
        --warnings-as-errors --analyze --output-path "$out/$module.doccarchive"
    echo "docs: $out/$module.doccarchive"
done
