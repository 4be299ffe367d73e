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
graphs_of_all=.build/symbol-graphs
rm -rf "$out" "$graphs_of_all"
mkdir -p "$out" "$graphs_of_all"
# In a build folder of its own, so that every module is compiled and leaves its graph.
rm -rf .build/for-docs
for target in TowlineTestKit TowlineHTTPClient; do
    swift build --target "$target" --scratch-path .build/for-docs \
        -Xswiftc -emit-symbol-graph -Xswiftc -emit-symbol-graph-dir -Xswiftc "$PWD/$graphs_of_all" \
        -Xswiftc -symbol-graph-minimum-access-level -Xswiftc public \
        -Xswiftc -symbol-graph-skip-inherited-docs -Xswiftc -symbol-graph-skip-synthesized-members
done

for module in Towline TowlineTLS TowlineTestKit TowlineHTTP TowlineCoding TowlineHTTPClient; do
    graphs=$graphs_of_all/of-$module
    mkdir -p "$graphs"
    # The module's own, and one for each other module whose types it adds to.
    cp "$graphs_of_all/$module".symbols.json "$graphs_of_all/$module"@*.symbols.json "$graphs"
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
