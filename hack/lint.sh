#!/usr/bin/env bash
# Checks how the code is written: gofmt, staticcheck, and shellcheck where it is installed. What staticcheck is told to let pass is in
# hack/lint/exceptions, each with its reason.
set -o errexit -o nounset -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "${root}"
export CGO_ENABLED=0 GOWORK=off
failed=0
complain() { echo "$1"; echo "$2" | sed 's/^/  /'; failed=1; }
files() { git ls-files --cached --others --exclude-standard "$@" | while read -r f; do [ ! -e "${f}" ] || echo "${f}"; done; }

mapfile -t sources < <(files '*.go')
unformatted=$(gofmt -l "${sources[@]}")
[ -z "${unformatted}" ] || complain "gofmt -w is needed:" "${unformatted}"

staticcheck=${root}/_output/lint/staticcheck
(cd hack/lint && go build -o "${staticcheck}" honnef.co/go/tools/cmd/staticcheck)
exceptions=$(mktemp)
trap 'rm -f "${exceptions}"' EXIT
grep -v -e '^#' -e '^$' hack/lint/exceptions >"${exceptions}"
# ST1000 asks for a package comment, which test/architecture does.
status=0
found=$("${staticcheck}" -checks 'all,-ST1000' ./... 2>&1) || status=$?
[ "${status}" -le 1 ] || complain "staticcheck ended with ${status}:" "${found}"
while read -r exception; do
  grep -q -E -e "${exception}" <<<"${found}" || complain "an exception of hack/lint/exceptions that nothing needs:" "${exception}"
done <"${exceptions}"
found=$(grep -v -E -f "${exceptions}" <<<"${found}" || true)
[ -z "${found}" ] || complain "staticcheck:" "${found}"

if command -v shellcheck >/dev/null; then
  mapfile -t scripts < <(files '*.sh' .ci/run)
  shell=$(shellcheck "${scripts[@]}" || true)
  [ -z "${shell}" ] || complain "shellcheck:" "${shell}"
fi
exit "${failed}"
