#!/usr/bin/env bash
# Installs the Debian packages that the tests and the demonstration use, if they are absent.
set -euo pipefail
packages=(make gcc libc6-dev python3 socat redis-server redis-tools haproxy strace valgrind
    libssl-dev openssl zlib1g-dev libbrotli-dev libzstd-dev libidn2-dev libpsl-dev nginx-light
    curl python3-aiosmtpd python3-pip python3-websockets tinyproxy-bin microsocks)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
        missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    run=()
    [ "$(id -u)" -eq 0 ] || run=(sudo)
    "${run[@]}" apt-get update -qq
    "${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# Another implementation of TLS, which Debian does not have: for a peer that breaks rules on purpose.
modules="$(dirname "$0")/../../.build/python"
if [ ! -d "$modules/tlslite" ]; then
    echo "setup: installing tlslite-ng"
    /usr/bin/python3 -m pip install --quiet --root-user-action=ignore --target "$modules" \
        tlslite-ng==0.8.2 || echo "setup: tlslite-ng cannot be had; the tests with it are left out" >&2
fi

# A server of many answers, to compare the client with curl on.
if [ ! -d "$modules/httpbin" ]; then
    echo "setup: installing httpbin"
    /usr/bin/python3 -m pip install --quiet --root-user-action=ignore --target "$modules" \
        httpbin==0.10.4 || echo "setup: httpbin cannot be had; it is left out of compare-curl" >&2
fi
