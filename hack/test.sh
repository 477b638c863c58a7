#!/usr/bin/env bash
# Runs every test. `make test` builds what it needs first.
set -euo pipefail
cd "$(dirname "$0")/.."

export TANDEM_BIN="$PWD/bin"
KUBEBUILDER_ASSETS=$("$TANDEM_BIN/tandem-local" assets)
export KUBEBUILDER_ASSETS

echo "== units, and integration with a real API server"
go test -race -shuffle=on -count=1 $(go list ./... | grep -v -e /test/e2e -e /test/fire)
echo "== the local cluster"
(cd cluster/local && go test -shuffle=on -count=1 -timeout 20m ./...)
echo "== whole runs on a local cluster"
go test -count=1 -timeout 20m ./test/e2e/...
echo "== the registry and peerwatch under fire"
go test -count=1 -timeout 20m ./test/fire/...
