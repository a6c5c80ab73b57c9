// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
)

// controllers are those whose work touches the kinds of an aggregated server (garbage, namespaces, quota, migration, aggregated roles)
// and those that give each namespace what workloads on a real hub find there.
var controllers = []string{
	"clusterrole-aggregation-controller",
	"garbage-collector-controller",
	"namespace-controller",
	"resourcequota-controller",
	"root-ca-certificate-publisher-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"storage-version-migrator-controller",
}

const frontProxyName = "front-proxy-client"

func (h *Hub) startEtcd(ctx context.Context) (err error) {
	h.Etcd, err = StartEtcd(ctx, EtcdOptions{Dir: h.opts.Dir, BinDir: h.opts.BinDir, Detached: h.opts.Detached})
	if err == nil {
		h.onStop(h.Etcd.Stop)
	}
	return err
}

func (h *Hub) startAPIServer(ctx context.Context) error {
	pki := h.pkiDir()
	cert, key, err := h.ServingCA.IssueFiles(Leaf{
		CommonName: "kube-apiserver",
		Hosts:      []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1", "::1", "10.0.0.1"},
	}, pki, "kube-apiserver")
	if err != nil {
		return err
	}
	proxyCert, proxyKey, err := h.FrontProxyCA.IssueFiles(Leaf{CommonName: frontProxyName}, pki, frontProxyName)
	if err != nil {
		return err
	}
	privateKey, publicKey, err := h.serviceAccountKeys()
	if err != nil {
		return err
	}
	args := append(h.Etcd.Flags(),
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(h.Port), "--tls-cert-file="+cert, "--tls-private-key-file="+key,
		"--client-ca-file="+h.ClientCA.CertFile, "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/24", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file="+privateKey, "--service-account-key-file="+publicKey,
		"--requestheader-client-ca-file="+h.FrontProxyCA.CertFile, "--requestheader-allowed-names="+frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file="+proxyCert, "--proxy-client-key-file="+proxyKey,
	)
	if !h.opts.WithoutUIDs {
		args = append(args, "--requestheader-uid-headers=X-Remote-Uid")
	}
	args = append(args, h.opts.APIServerFlags...)
	h.APIServer, err = h.spawn(ctx, "kube-apiserver", h.Port, "/readyz", args)
	return err
}

func (h *Hub) startControllerManager(ctx context.Context) error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	kubeconfig, err := h.Kubeconfig("system:kube-controller-manager")
	if err != nil {
		return err
	}
	cert, key, err := h.ServingCA.IssueFiles(Leaf{CommonName: "kube-controller-manager", Hosts: []string{"127.0.0.1"}},
		h.pkiDir(), "kube-controller-manager")
	if err != nil {
		return err
	}
	privateKey, _, err := h.serviceAccountKeys()
	if err != nil {
		return err
	}
	h.ControllerManager, err = h.spawn(ctx, "kube-controller-manager", port, "/healthz", []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--tls-cert-file=" + cert, "--tls-private-key-file=" + key,
		"--leader-elect=false", "--use-service-account-credentials", "--controllers=" + strings.Join(controllers, ","),
		"--service-account-private-key-file=" + privateKey, "--root-ca-file=" + h.ServingCA.CertFile, "--v=2",
	})
	return err
}

// serviceAccountKeys returns the files of the key that signs the tokens of service accounts.
func (h *Hub) serviceAccountKeys() (private, public string, err error) {
	private, public = filepath.Join(h.pkiDir(), "service-account.key"), filepath.Join(h.pkiDir(), "service-account.pub")
	key, err := loadOrMakeKey(private)
	if err != nil {
		return "", "", err
	}
	data, err := publicKeyPEM(key.Public())
	return private, public, errors.Join(err, writeFile(public, data, 0o644))
}
