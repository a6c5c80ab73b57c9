// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/rest"
)

// EtcdOptions says how to start an etcd.
type EtcdOptions struct {
	// Dir is the state folder.
	Dir string
	// Name tells it from others in the same folder. Default: etcd.
	Name string
	// BinDir holds the etcd binary. Default: what Tools returns.
	BinDir string
	// Fsync makes each write wait for the disk, as it should where data matters. Default: off, which is much faster.
	Fsync bool
	// QuotaBytes is how large its database may become. Default: etcd's.
	QuotaBytes int
	// Detached lets it run on when this program ends.
	Detached bool
}

// Etcd is a running etcd with one member, which talks TLS only and only to those that show a certificate of its CA.
type Etcd struct {
	*Process
	// CA signs the certificates of its clients and of itself.
	CA *CA
	// URL is where clients reach it.
	URL string

	certFile, keyFile string
}

// StartEtcd starts an etcd on loopback and returns when it is ready.
func StartEtcd(ctx context.Context, o EtcdOptions) (*Etcd, error) {
	if o.Name == "" {
		o.Name = "etcd"
	}
	binDir, err := binDirOrTools(ctx, o.BinDir)
	if err != nil {
		return nil, err
	}
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	pki := filepath.Join(o.Dir, "pki")
	e := &Etcd{URL: "https://" + loopback(port)}
	if e.CA, err = NewCA(pki, o.Name+"-ca"); err != nil {
		return nil, err
	}
	cert, key, err := e.CA.IssueFiles(Leaf{CommonName: o.Name, Hosts: []string{"localhost", "127.0.0.1"}}, pki, o.Name)
	if err != nil {
		return nil, err
	}
	if e.certFile, e.keyFile, err = e.CA.IssueFiles(Leaf{CommonName: "client"}, pki, o.Name+"-client"); err != nil {
		return nil, err
	}
	// One member has no peers, so nobody ever dials this address and the system may choose the port.
	const peers = "https://127.0.0.1:0"
	args := []string{
		"--name=" + o.Name, "--data-dir=" + filepath.Join(o.Dir, o.Name), "--log-level=warn",
		"--listen-client-urls=" + e.URL, "--advertise-client-urls=" + e.URL,
		"--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers, "--initial-cluster=" + o.Name + "=" + peers,
		"--cert-file=" + cert, "--key-file=" + key, "--trusted-ca-file=" + e.CA.CertFile, "--client-cert-auth",
		"--peer-cert-file=" + cert, "--peer-key-file=" + key, "--peer-trusted-ca-file=" + e.CA.CertFile, "--peer-client-cert-auth",
		// Its gateway would have to dial etcd with a certificate of its own, and nobody uses it.
		"--enable-grpc-gateway=false",
		// What Kubernetes recommends: watchers of quiet keys stay recent.
		"--watch-progress-notify-interval=5s",
	}
	if o.QuotaBytes != 0 {
		args = append(args, "--quota-backend-bytes="+strconv.Itoa(o.QuotaBytes))
	}
	if !o.Fsync {
		args = append(args, "--unsafe-no-fsync")
	}
	e.Process = &Process{command: command{name: o.Name, path: filepath.Join(binDir, "etcd"), args: args, dir: o.Dir, detached: o.Detached}}
	if err := e.Restart(ctx); err != nil {
		return nil, discard(e.Process, err)
	}
	return e, nil
}

// Restart starts an etcd that was stopped, at the same address and on what is in its data folder then, and returns when it is ready.
func (e *Etcd) Restart(ctx context.Context) error {
	p, err := e.command.start()
	if err != nil {
		return err
	}
	e.Process = p
	ctx, cancel := withTimeout(ctx, e.name)
	defer cancel()
	return until(ctx, e.Process, "etcd to be ready", func(ctx context.Context) error {
		return healthy(ctx, e.Config(), "/readyz")
	})
}

// Flags returns the flags with which an API server, ours or the hub's, uses this etcd.
func (e *Etcd) Flags() []string {
	return []string{
		"--etcd-servers=" + e.URL, "--etcd-cafile=" + e.CA.CertFile, "--etcd-certfile=" + e.certFile, "--etcd-keyfile=" + e.keyFile,
	}
}

// Config is a client configuration for its HTTP endpoints, /metrics above all.
func (e *Etcd) Config() *rest.Config {
	return &rest.Config{Host: e.URL, TLSClientConfig: rest.TLSClientConfig{
		CAFile: e.CA.CertFile, CertFile: e.certFile, KeyFile: e.keyFile,
	}}
}

// Metrics returns what etcd's /metrics answers.
func (e *Etcd) Metrics(ctx context.Context) (string, error) {
	client, err := rest.HTTPClientFor(e.Config())
	if err != nil {
		return "", err
	}
	defer client.CloseIdleConnections()
	body, _, err := get(ctx, client, e.URL+"/metrics")
	return string(body), err
}
