#!/usr/bin/env bash
# Fails, with the difference, where the generated code is not what hack/update-codegen.sh writes. It works on a copy; the checkout stays
# as it is.
set -o errexit -o nounset -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
copy=$(mktemp -d)
trap 'rm -rf "${copy}"' EXIT

# What is tracked or could be, without what was deleted.
git ls-files -z --cached --others --exclude-standard |
  while IFS= read -r -d '' file; do [ ! -e "${file}" ] || printf '%s\0' "${file}"; done |
  tar --create --null --files-from=- | tar --extract --directory="${copy}"

cd "${copy}"
git init --quiet
git add --all
log=_output/update-codegen.log
mkdir -p _output
if ! hack/update-codegen.sh >"${log}" 2>&1; then
  cat "${log}"
  echo "hack/update-codegen.sh failed"
  exit 1
fi
git add --intent-to-add --all
if ! git --no-pager diff --exit-code -- pkg hack/openapi_violations.list; then
  echo "The generated code is not up to date: run make generate."
  exit 1
fi
