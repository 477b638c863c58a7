#!/usr/bin/env bash
# Installs the Debian packages that the local cluster, the images and the tests need. Without root it prints the
# line to run. Nothing is done when all are there.
set -euo pipefail

packages=(
	containerd runc containernetworking-plugins # the node
	iptables conntrack iproute2 mount           # its network and mounts
	tini                                        # first process of an instance
	busybox-static bash-static                  # userland of the stub trainer's image
	gcc libc6-dev                               # go test -race
)

if ! command -v dpkg-query >/dev/null; then
	echo "error: this is no Debian or Ubuntu; install what provides: ${packages[*]}" >&2
	exit 1
fi
missing=()
for p in "${packages[@]}"; do
	status=$(dpkg-query --show --showformat='${db:Status-Status}' "$p" 2>/dev/null) || status=absent
	[ "$status" = installed ] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0
line="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
if [ "$(id -u)" != 0 ]; then
	echo "error: packages are missing, and installing them needs root; run:" >&2
	echo "  sudo sh -c '$line'" >&2
	exit 1
fi
echo "installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# The node's programs are started by the local cluster itself: no service of theirs is wanted on this machine.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod +x "$policy"
	trap 'rm -f "$policy"' EXIT
fi
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
