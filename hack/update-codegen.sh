#!/usr/bin/env bash
# Writes all generated code: protobuf, deepcopy, defaults, conversions, validations, OpenAPI, clients, listers, informers and apply
# configurations. Installs what it needs: the generators from Go modules at the versions of go.mod, protoc from the distribution.
set -o errexit -o nounset -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "${root}"
module=$(go list -m)
boilerplate=${root}/hack/boilerplate.go.txt
export CGO_ENABLED=0

if ! command -v protoc >/dev/null; then
  echo "installing protoc (package protobuf-compiler)" >&2
  sudo=""; [ "$(id -u)" = 0 ] || sudo=sudo
  if command -v apt-get >/dev/null; then
    ${sudo} apt-get update -qq && ${sudo} apt-get install -y -qq protobuf-compiler >/dev/null
  else
    echo "protoc is missing, and this is no Debian: install protoc 3.21 or newer and run this again" >&2
    exit 1
  fi
fi

bin=${root}/_output/codegen-bin
mkdir -p "${bin}"
export GOBIN=${bin} PATH="${bin}:${PATH}"
go install k8s.io/code-generator/cmd/go-to-protobuf k8s.io/code-generator/cmd/go-to-protobuf/protoc-gen-gogo golang.org/x/tools/cmd/goimports

dir() { go list -m -f '{{.Dir}}' "$1"; }

echo "Generating protobuf"
# go-to-protobuf wants its inputs and outputs under one folder shaped like import paths.
tree=$(mktemp -d)
trap 'rm -rf "${tree}"' EXIT
mkdir -p "${tree}/$(dirname "${module}")" "${tree}/k8s.io" "${tree}/github.com/gogo"
ln -s "${root}" "${tree}/${module}"
ln -s "$(dir k8s.io/apimachinery)" "${tree}/k8s.io/apimachinery"
ln -s "$(dir k8s.io/api)" "${tree}/k8s.io/api"
ln -s "$(dir github.com/gogo/protobuf)" "${tree}/github.com/gogo/protobuf"
packages=$(grep -rl '+k8s:protobuf-gen=package' pkg/apis --include doc.go | xargs -n1 dirname | LC_ALL=C sort | sed "s#^#${module}/#" | paste -sd,)
# The leading - reads a package without generating it.
machinery=$(printf -- '-k8s.io/apimachinery/pkg/%s,' util/intstr api/resource runtime/schema runtime apis/meta/v1)
go-to-protobuf --go-header-file "${boilerplate}" --output-dir "${tree}" --proto-import "${tree}" \
  --apimachinery-packages "${machinery}-k8s.io/api/core/v1" --packages "${packages}"

# shellcheck source=/dev/null
source "$(dir k8s.io/code-generator)/kube_codegen.sh"
kube::codegen::gen_helpers --boilerplate "${boilerplate}" "${root}/pkg/apis"
kube::codegen::gen_openapi --output-dir "${root}/pkg/generated/openapi" --output-pkg "${module}/pkg/generated/openapi" \
  --report-filename "${root}/hack/openapi_violations.list" --update-report --output-model-name-file zz_generated.model_name.go \
  --boilerplate "${boilerplate}" "${root}/pkg/apis"
kube::codegen::gen_client --with-watch --with-applyconfig --prefers-protobuf \
  --applyconfig-openapi-schema <(go run "${module}/pkg/generated/openapi/cmd/models-schema") \
  --output-dir "${root}/pkg/generated" --output-pkg "${module}/pkg/generated" --boilerplate "${boilerplate}" "${root}/pkg/apis"
