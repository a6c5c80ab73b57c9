#!/usr/bin/env bash
# Builds the hub's binaries (etcd, kube-apiserver, kube-controller-manager, kubectl) at the versions that go.mod pins, once, into a
# cache that all checkouts share, and prints the folder that holds them.
#
#   hack/tools/build.sh              all of them
#   hack/tools/build.sh kubectl      only those named
#
# BINNACLE_TOOLS_CACHE moves the cache (default: the user's cache folder).
set -o errexit -o nounset -o pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "${here}"

# Same settings as the rest of the project, so that Go's build cache serves both.
export CGO_ENABLED=0 GOWORK=off

version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${version#v}"
# Unstamped binaries call themselves v0.0.0-master+$Format:%H$, which clients cannot parse.
ldflags="-s -w"
for pkg in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  ldflags+=" -X ${pkg}.gitVersion=${version} -X ${pkg}.gitMajor=${major} -X ${pkg}.gitMinor=${minor} -X ${pkg}.gitTreeState=clean"
done

key=$({ cat go.mod go.sum etcd/main.go; echo "${ldflags}"; go version; } | sha256sum | cut -c1-12)
out=${BINNACLE_TOOLS_CACHE:-${XDG_CACHE_HOME:-${HOME}/.cache}/binnacle}/tools-${version}-${key}
mkdir -p "${out}"

package() {
  case $1 in
  etcd) echo ./etcd ;;
  kube-apiserver | kube-controller-manager | kubectl) echo "k8s.io/kubernetes/cmd/$1" ;;
  *) echo "unknown tool $1: etcd, kube-apiserver, kube-controller-manager or kubectl" >&2; return 2 ;;
  esac
}

[ $# -gt 0 ] || set -- etcd kubectl kube-apiserver kube-controller-manager
for tool in "$@"; do
  pkg=$(package "${tool}")
  [ -x "${out}/${tool}" ] && continue
  echo "building ${tool} (the first time takes minutes; cached afterwards)" >&2
  # A name of its own and a rename: two builders never see each other's half-written file.
  go build -ldflags "${ldflags}" -o "${out}/${tool}.$$" "${pkg}" >&2
  mv "${out}/${tool}.$$" "${out}/${tool}"
done
echo "${out}"
