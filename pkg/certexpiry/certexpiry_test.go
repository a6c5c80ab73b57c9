package certexpiry

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/component-base/metrics/legacyregistry"
)

// ending returns certificates that end in so many hours.
func ending(t *testing.T, hours ...int) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, h := range hours {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().Add(time.Duration(h) * time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	return out
}

func TestEnd(t *testing.T) {
	tests := []struct {
		name   string
		bundle bool
		hours  []int
		want   int
	}{
		{"one", false, []int{5}, 5},
		{"a chain", false, []int{5, 3}, 5},
		{"one CA", true, []int{5}, 5},
		{"the next CA to end", true, []int{9, 3, 5}, 3},
		{"an old CA is kept", true, []int{-1, 7}, 7},
		{"an old CA is kept behind", true, []int{7, -1}, 7},
		{"several", true, []int{-9, 8, -1, 6}, 6},
		{"all have ended", true, []int{-9, -2, -5}, -2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			content := ending(t, test.hours...)
			now := time.Now()
			end, err := Certificate{Bundle: test.bundle, Content: func() []byte { return content }}.end(now)
			if err != nil || int(end.Sub(now).Round(time.Hour).Hours()) != test.want {
				t.Errorf("ends in %s, want %d h: %v", end.Sub(now), test.want, err)
			}
		})
	}
}

// TestMetric replaces what is observed, and a file while it is observed.
func TestMetric(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tls.crt")
	write := func(hours int) {
		t.Helper()
		if err := os.WriteFile(path, ending(t, hours), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, err := dynamiccertificates.NewStaticCAContent("ca", ending(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	if err := Observe(File("gone", "/nowhere")); err != nil {
		t.Fatal(err)
	}
	write(1)
	if err := Observe(File("etcd-client", path), Trusted("client-ca", ca)); err != nil {
		t.Fatal(err)
	}
	for _, hours := range []int{1, 50} {
		write(hours)
		found := map[string]float64{}
		families, err := legacyregistry.DefaultGatherer.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if family.GetName() != "binnacle_certificate_expiration_timestamp_seconds" {
				continue
			}
			for _, metric := range family.GetMetric() {
				found[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
		for name, want := range map[string]int{"etcd-client": hours, "client-ca": 100} {
			if got := time.Until(time.Unix(int64(found[name]), 0)); got.Round(time.Hour) != time.Duration(want)*time.Hour {
				t.Errorf("%s ends in %s, want %d h", name, got, want)
			}
		}
		if len(found) != 2 {
			t.Errorf("%v, want two", found)
		}
	}
}

func TestWithout(t *testing.T) {
	one, two := ending(t, 3), ending(t, 8)
	bundle := func(content ...[]byte) Certificate {
		return Certificate{Bundle: true, Content: func() []byte { return bytes.Join(content, nil) }}
	}
	now := time.Now()
	end, err := bundle(one, two).Without(bundle(one)).end(now)
	if err != nil || end.Sub(now).Round(time.Hour) != 8*time.Hour {
		t.Errorf("ends in %s, %v", end.Sub(now), err)
	}
	if _, err := bundle(one).Without(bundle(one, two)).end(now); err == nil {
		t.Error("nothing is left, and has an end")
	}
}

func TestWrongContentIsNamed(t *testing.T) {
	if _, err := (Certificate{Name: "serving", Content: func() []byte { return []byte("no PEM") }}).end(time.Now()); err == nil || !strings.HasPrefix(fmt.Sprint(err), "serving: ") {
		t.Error(err)
	}
}
