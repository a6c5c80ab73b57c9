// Copyright The Binnacle Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	certutil "k8s.io/client-go/util/cert"
)

func TestCA(t *testing.T) {
	dir := t.TempDir()
	ca, err := NewCA(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewCA(dir, "ca")
	if err != nil {
		t.Fatal(err)
	}
	if !again.cert.Equal(ca.cert) {
		t.Error("a second start made another CA")
	}
	other, err := NewCA(dir, "other")
	if err != nil {
		t.Fatal(err)
	}

	client := Leaf{CommonName: "alice", Organization: []string{"developers", "owners"}}
	server := servingLeaf()
	for _, test := range []struct {
		name  string
		leaf  Leaf
		roots *CA
		usage x509.ExtKeyUsage
		host  string
		valid bool
	}{
		{"client", client, again, x509.ExtKeyUsageClientAuth, "", true},
		{"client of another CA", client, other, x509.ExtKeyUsageClientAuth, "", false},
		{"client as server", client, again, x509.ExtKeyUsageServerAuth, "", false},
		{"server by the name that the hub checks", server, again, x509.ExtKeyUsageServerAuth, "binnacle-apiserver.binnacle-system.svc", true},
		{"server by IPv6", server, again, x509.ExtKeyUsageServerAuth, "::1", true},
		{"server by another name", server, again, x509.ExtKeyUsageServerAuth, "example.com", false},
		{"server as client", server, again, x509.ExtKeyUsageClientAuth, "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			certPEM, keyPEM, err := ca.Issue(test.leaf)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
				t.Fatal(err)
			}
			certs, err := certutil.ParseCertsPEM(certPEM)
			if err != nil {
				t.Fatal(err)
			}
			roots := x509.NewCertPool()
			roots.AddCert(test.roots.cert)
			_, err = certs[0].Verify(x509.VerifyOptions{
				Roots: roots, KeyUsages: []x509.ExtKeyUsage{test.usage}, DNSName: test.host,
			})
			if (err == nil) != test.valid {
				t.Errorf("got %v, want valid=%v", err, test.valid)
			}
		})
	}
}
