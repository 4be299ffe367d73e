#!/usr/bin/env bash
# Installs the Debian packages that the tests and the demonstration use, if they are absent.
set -euo pipefail
packages=(make gcc libc6-dev python3 socat redis-server redis-tools haproxy strace valgrind
    libssl-dev openssl nginx-light curl python3-aiosmtpd)
missing=()
for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
        missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "setup: installing ${missing[*]}"
run=()
[ "$(id -u)" -eq 0 ] || run=(sudo)
"${run[@]}" apt-get update -qq
"${run[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
