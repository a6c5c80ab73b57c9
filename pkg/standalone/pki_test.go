package standalone

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"
)

func ensure(t *testing.T, dir string, hosts ...string) PKI {
	t.Helper()
	pki, err := EnsurePKI(dir, hosts)
	if err != nil {
		t.Fatal(err)
	}
	return pki
}

// files returns the content of a folder by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	content := map[string]string{}
	for _, entry := range entries {
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		content[entry.Name()] = string(data)
	}
	return content
}

// changed tells which files two contents of a folder do not share.
func changed(before, after map[string]string) map[string]bool {
	names := map[string]bool{}
	for name := range after {
		if before[name] != after[name] {
			names[name] = true
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names[name] = true
		}
	}
	return names
}

func load(t *testing.T, pki PKI, name string) *x509.Certificate {
	t.Helper()
	certificate, _, err := pki.load(name)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// verify checks that a certificate is good for a use, under the CA on disk.
func verify(t *testing.T, pki PKI, name, host string, usage x509.ExtKeyUsage) {
	t.Helper()
	roots, err := cert.NewPool(pki.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	options := x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{usage}}
	if _, err := load(t, pki, name).Verify(options); err != nil {
		t.Errorf("the %s certificate for %q: %v", name, host, err)
	}
}

func TestPKIIsMadeOnceAndKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "pki")
	pki := ensure(t, dir, "203.0.113.7", "binnacle.example.com")
	for _, host := range []string{"localhost", "127.0.0.1", "::1", "203.0.113.7", "binnacle.example.com"} {
		verify(t, pki, "server", host, x509.ExtKeyUsageServerAuth)
	}
	verify(t, pki, "admin", "", x509.ExtKeyUsageClientAuth)
	admin := load(t, pki, "admin").Subject
	if admin.CommonName != "binnacle-admin" || len(admin.Organization) != 1 || admin.Organization[0] != adminGroup {
		t.Errorf("the administrator is %v", admin)
	}
	if _, err := load(t, pki, "server").Verify(x509.VerifyOptions{Roots: x509.NewCertPool()}); err == nil {
		t.Error("the server certificate verifies without the CA")
	}
	before := files(t, dir)
	for name := range before {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
	ensure(t, dir, "203.0.113.7", "binnacle.example.com")
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the second start changed files:\n%s", diff)
	}
	// Fewer hosts are covered too.
	ensure(t, dir)
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("a start with fewer hosts changed files:\n%s", diff)
	}
}

func TestWhatIsRenewed(t *testing.T) {
	tests := []struct {
		name  string
		hosts []string
		// before changes what is on disk.
		before func(*testing.T, PKI)
		want   map[string]bool
	}{
		{name: "another name", hosts: []string{"other.example.com"}, want: map[string]bool{"server.crt": true, "server.key": true}},
		{name: "another address", hosts: []string{"203.0.113.8"}, want: map[string]bool{"server.crt": true, "server.key": true}},
		{name: "server certificate ends soon", before: endsIn("server", leafLifetime/3-time.Hour),
			want: map[string]bool{"server.crt": true, "server.key": true}},
		{name: "server certificate ends late enough", before: endsIn("server", leafLifetime/3+time.Hour), want: map[string]bool{}},
		{name: "admin certificate ended", before: endsIn("admin", -time.Hour), want: map[string]bool{"admin.crt": true, "admin.key": true}},
		{name: "admin key gone", before: remove("admin.key"), want: map[string]bool{"admin.crt": true, "admin.key": true}},
		{name: "CA gone", before: remove("ca.crt", "ca.key"), want: map[string]bool{
			"ca.crt": true, "ca.key": true, "server.crt": true, "server.key": true, "admin.crt": true, "admin.key": true}},
		{name: "CA certificate gone", before: remove("ca.crt"), want: map[string]bool{
			"ca.crt": true, "ca.key": true, "server.crt": true, "server.key": true, "admin.crt": true, "admin.key": true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			pki := ensure(t, dir)
			ca := files(t, dir)
			if test.before != nil {
				test.before(t, pki)
			}
			before := files(t, dir)
			ensure(t, dir, test.hosts...)
			for name := range ca { // A file that was taken away counts as changed.
				if _, ok := before[name]; !ok {
					before[name] = ca[name]
				}
			}
			if diff := cmp.Diff(test.want, changed(before, files(t, dir))); diff != "" {
				t.Errorf("renewed (-want +got):\n%s", diff)
			}
			for _, host := range append(test.hosts, "localhost") {
				verify(t, pki, "server", host, x509.ExtKeyUsageServerAuth)
			}
			verify(t, pki, "admin", "", x509.ExtKeyUsageClientAuth)
		})
	}
}

// TestLostCAKey does not replace a CA that clients trust without being told to.
func TestLostCAKey(t *testing.T) {
	dir := t.TempDir()
	ensure(t, dir)
	if err := os.Remove(filepath.Join(dir, "ca.key")); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	if _, err := EnsurePKI(dir, nil); err == nil || !strings.Contains(err.Error(), "ca.key") || !strings.Contains(err.Error(), "remove ca.crt") {
		t.Errorf("a lost CA key: %v", err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("files have changed:\n%s", diff)
	}
}

// endsIn replaces a certificate by one of the same CA and content that ends after a time.
func endsIn(name string, left time.Duration) func(*testing.T, PKI) {
	return func(t *testing.T, pki PKI) {
		t.Helper()
		ca, caKey, err := pki.load("ca")
		if err != nil {
			t.Fatal(err)
		}
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := *load(t, pki, name)
		template.NotBefore, template.NotAfter = time.Now().Add(-leafLifetime), time.Now().Add(left)
		der, err := x509.CreateCertificate(rand.Reader, &template, ca, key.Public(), caKey)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if err := pki.save(name, leaf, key); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(names ...string) func(*testing.T, PKI) {
	return func(t *testing.T, pki PKI) {
		t.Helper()
		for _, name := range names {
			if err := os.Remove(pki.path(name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestDamagedPKI refuses to start over what somebody may still need, and says where it is.
func TestDamagedPKI(t *testing.T) {
	for _, name := range []string{"ca.crt", "ca.key", "server.crt", "admin.key"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			pki := ensure(t, dir)
			if err := os.WriteFile(pki.path(name), []byte("-----BEGIN NONSENSE-----"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := files(t, dir)
			_, err := EnsurePKI(dir, nil)
			if err == nil || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want one that names %s", err, dir)
			}
			if diff := cmp.Diff(before[name], files(t, dir)[name]); diff != "" {
				t.Errorf("the damaged file was replaced:\n%s", diff)
			}
		})
	}
}

func TestWriteFileReplacesAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, data := range [][]byte{[]byte("first, and longer"), []byte("second")} {
		if err := writeFile(path, data); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%q, %v, want %q", got, err, data)
		}
	}
	// Nothing half-written is left beside it.
	if left := files(t, filepath.Dir(path)); len(left) != 1 {
		t.Errorf("files: %v", left)
	}
	if err := writeFile(filepath.Join(path, "below-a-file"), nil); err == nil {
		t.Error("wrote below a file")
	}
}
