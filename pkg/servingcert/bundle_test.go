package servingcert

import (
	"crypto/x509"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

var (
	start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	hosts = []string{"api.ns.svc", "api.ns"}
)

// advance is one step at a time, with the bundle that the hub trusts by then.
func advance(t *testing.T, s state, now time.Time, trusted []byte) (state, bool) {
	t.Helper()
	next, changed, err := s.next(now, hosts, trusted)
	if err != nil {
		t.Fatal(err)
	}
	data, err := next.data()
	if err != nil {
		t.Fatal(err)
	}
	// What is stored is read back the same.
	again, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return again, changed
}

func pem(t *testing.T, s state) []byte {
	t.Helper()
	data, err := cert.EncodeCertificates(s.bundle...)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// verify checks the leaf as the hub does, which trusts a bundle.
func verify(t *testing.T, s state, now time.Time, bundle []byte) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, host := range hosts {
		if _, err := s.leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now}); err != nil {
			t.Errorf("at %s: %v", now, err)
		}
	}
}

// TestLife follows a certificate for ten years, with a hub that notices each new bundle at the next look only.
func TestLife(t *testing.T) {
	s, changed := advance(t, state{}, start, nil)
	if !changed || s.leaf == nil || s.signer == nil || len(s.bundle) != 1 {
		t.Fatalf("the first step makes all: %+v", s)
	}
	trusted := pem(t, s)
	leaves, signers := 1, 1
	for now := start; now.Before(start.AddDate(10, 0, 0)); now = now.Add(12 * time.Hour) {
		before := s
		s, changed = advance(t, s, now, trusted)
		verify(t, s, now, trusted) // by the bundle from before this step
		if same := s.leaf.Equal(before.leaf) && s.signer.Equal(before.signer) && len(s.bundle) == len(before.bundle); same == changed {
			t.Fatalf("at %s: changed is %t", now, changed)
		}
		if !s.leaf.Equal(before.leaf) {
			leaves++
		}
		if !s.signer.Equal(before.signer) {
			signers++
		}
		if len(s.bundle) > 2 {
			t.Fatalf("at %s the bundle has %d CAs", now, len(s.bundle))
		}
		trusted = pem(t, s)
	}
	if signers < 4 || signers > 6 || leaves < 55 || leaves > 70 {
		t.Errorf("%d CAs and %d certificates in ten years", signers, leaves)
	}
}

// TestNewCAIsNotUsedBeforeItIsTrusted takes the CA away, as an operator does who wants a new one.
func TestNewCAIsNotUsedBeforeItIsTrusted(t *testing.T) {
	old, _ := advance(t, state{}, start, nil)
	trusted := pem(t, old)
	s := old
	s.signer, s.signerKey = nil, nil
	now := start.Add(time.Hour)
	for range 3 { // The hub does not hear of it.
		if s, _ = advance(t, s, now, trusted); !s.leaf.Equal(old.leaf) {
			t.Fatal("a certificate of a CA that the hub does not trust")
		}
	}
	if len(s.bundle) != 2 || s.signer.Equal(old.signer) {
		t.Fatalf("%d CAs", len(s.bundle))
	}
	if again, changed := advance(t, s, now, pem(t, s)); changed || !again.leaf.Equal(old.leaf) {
		t.Error("signed in the moment in which the hub was told")
	}
	s, _ = advance(t, s, now.Add(settle+time.Second), pem(t, s))
	if s.leaf.Equal(old.leaf) || s.leaf.CheckSignatureFrom(s.signer) != nil {
		t.Error("the new CA is trusted and does not sign")
	}
	verify(t, s, now, pem(t, s))
}

// TestWhatIsRenewed renews for another name, and for a certificate that was taken away or has ended.
func TestWhatIsRenewed(t *testing.T) {
	s, _ := advance(t, state{}, start, nil)
	later := start.Add(time.Hour)
	if _, changed := advance(t, s, later, pem(t, s)); changed {
		t.Error("nothing is to be done, and something was")
	}
	named, changed, err := s.next(later, append(hosts, "other.ns"), pem(t, s))
	if err != nil || !changed || named.leaf.VerifyHostname("other.ns") != nil {
		t.Errorf("another name: %t, %v", changed, err)
	}
	gone := s
	gone.leaf, gone.leafPEM, gone.keyPEM = nil, nil, nil
	if gone, changed = advance(t, gone, later, nil); !changed || gone.leaf == nil {
		t.Error("a certificate that was taken away is not made again")
	}
	ended := s.leaf.NotAfter.Add(time.Hour)
	if again, changed := advance(t, s, ended, nil); !changed || ended.After(again.leaf.NotAfter) {
		t.Error("a certificate that has ended is served on")
	}
	for key, bad := range map[string]string{keyBundle: "x", keySignerCert: "x", keyCert: "x"} {
		data, err := s.data()
		if err != nil {
			t.Fatal(err)
		}
		data[key] = []byte(bad)
		if _, err := parse(data); err == nil {
			t.Errorf("a damaged %s is accepted", key)
		}
	}
}
