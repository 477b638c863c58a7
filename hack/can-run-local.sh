#!/usr/bin/env bash
# Says at once when this machine cannot run a local cluster, and what to do instead.
set -euo pipefail

reason=
if [ "$(uname -s)" != Linux ]; then
	reason="a local cluster needs Linux, this is $(uname -s)"
elif [ "$(id -u)" != 0 ]; then
	reason="a local cluster needs root"
fi
[ -n "$reason" ] || exit 0
cat >&2 <<MSG
error: $reason
hint: run it as root on a Debian or Ubuntu machine, or on a cluster that you have, with the JobSet controller and the
      KubeRay operator in it and the images of \`make images\` (built on Linux) on its nodes:
        make demo KUBECONFIG=/path/to/kubeconfig
MSG
exit 1
