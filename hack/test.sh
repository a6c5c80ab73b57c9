#!/usr/bin/env bash
# Runs the named groups of checks, all of them without a name, and goes on after a failure. The last line is the count: each test, each
# subtest and each other check is one.
#
#   hack/test.sh [vet|lint|unit|integration|docs|codegen]...
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=${CGO_ENABLED:-0}
out=_output/test
results=${out}/results
rm -rf "${out}"
mkdir -p "${out}"
go build -o "${out}/testsum" ./hack/testsum

# check NAME COMMAND... runs what passes or fails as a whole.
check() {
  local name=$1; shift
  if "$@"; then echo "pass check ${name}" >>"${results}"; else echo "FAIL  ${name}"; echo "fail check ${name}" >>"${results}"; fi
}

# gotest ARGUMENTS... runs Go tests and counts each.
gotest() {
  go test -json "$@" 2>&1 | "${out}/testsum" "${results}" || true
}

group() {
  case $1 in
  vet) check vet go vet ./... ;;
  lint) check lint hack/lint.sh ;;
  unit)
    local packages
    mapfile -t packages < <(go list ./... | grep -v '/test/')
    gotest -timeout 10m "${packages[@]}"
    ;;
  integration)
    # These start processes: one package at a time, and never from Go's cache of results, which does not see the server's binary.
    check "build the server" make --no-print-directory build
    check "build the hub's binaries" hack/tools/build.sh >/dev/null
    # A module of its own.
    check "container image" go test -C hack/image -count 1 ./...
    BINNACLE_TOOLS_DIR=${BINNACLE_TOOLS_DIR:-$(hack/tools/build.sh)} gotest -count 1 -p 1 -timeout 45m ./test/...
    ;;
  docs) check "generated docs" go run ./hack/docs -check ;;
  codegen) check "generated code" hack/verify-codegen.sh ;;
  *) echo "unknown group $1: vet, lint, unit, integration, docs or codegen" >&2; exit 2 ;;
  esac
}

[ $# -gt 0 ] || set -- vet lint unit integration docs codegen
for name in "$@"; do
  echo "== ${name}"
  began=${SECONDS}
  group "${name}"
  echo "== ${name} took $((SECONDS - began))s"
done

count() { grep -c "^$1 " "${results}" || true; }
skipped=$(count skip)
if [ "${skipped}" -gt 0 ]; then
  echo
  echo "${skipped} skipped:"
  grep '^skip ' "${results}" | cut -d' ' -f2-
fi
failed=$(count fail)
if [ "${failed}" -gt 0 ]; then
  echo
  echo "${failed} failed:"
  grep '^fail ' "${results}" | cut -d' ' -f2-
fi
echo
echo "$(count pass) passed, ${failed} failed" | tee "${out}/summary"
[ "${failed}" = 0 ]
