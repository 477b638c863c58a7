#!/usr/bin/env bash
# Checks that need no cluster, over the modules that are given. Nothing is changed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
tools=$root/bin/tools

(cd hack/tools && go build -o "$tools/" honnef.co/go/tools/cmd/staticcheck mvdan.cc/gofumpt)

echo "== gofumpt"
unformatted=$("$tools/gofumpt" -l .)
[ -z "$unformatted" ] || { echo "not formatted; run: $tools/gofumpt -w ."; echo "$unformatted"; exit 1; }

for module in "$@"; do
	echo "== $module: tidy, vet, staticcheck"
	cd "$root/$module"
	go mod tidy -diff
	if [ -n "$(find . -name '*.go' -print -quit)" ]; then
		go vet ./...
		"$tools/staticcheck" ./...
	fi
done

echo "== generated files"
cd "$root"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
(cd "$copy" && go generate ./...)
for generated in docs api; do
	git diff --no-index --exit-code --stat "$root/$generated" "$copy/$generated"
done
