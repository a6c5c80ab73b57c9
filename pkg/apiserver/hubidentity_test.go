package apiserver

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestTrustsHub(t *testing.T) {
	const client, proxy = "-----client CA-----\n", "-----proxy CA-----\n"
	published := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: data}
	}
	both := map[string]string{"client-ca-file": client, "requestheader-client-ca-file": proxy, "requestheader-allowed-names": `["a"]`}
	tests := []struct {
		name    string
		hub     *fake.Clientset
		trusted string
		want    string
	}{
		{"both loaded", fake.NewClientset(published(both)), client + proxy, ""},
		{"beside others", fake.NewClientset(published(both)), "own\n" + proxy + client + "last", ""},
		{"nothing loaded", fake.NewClientset(published(both)), "", "not loaded yet: client-ca-file of kube-system/extension-apiserver-authentication"},
		{"one loaded", fake.NewClientset(published(both)), client, "not loaded yet: requestheader-client-ca-file of kube-system/extension-apiserver-authentication"},
		{"an old one loaded", fake.NewClientset(published(both)), "-----old CA-----\n" + proxy, "not loaded yet: client-ca-file"},
		{"the hub publishes one only", fake.NewClientset(published(map[string]string{"client-ca-file": client})), client, ""},
		{"the hub publishes nothing", fake.NewClientset(), client + proxy, "cannot read whom the hub trusts"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := trustsHub(t.Context(), test.hub, []byte(test.trusted))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestPending follows a check through its answers, and ends with the first good one or the context.
func TestPending(t *testing.T) {
	check := newPending("something")
	if check.Name() != "something" || !errors.Is(check.Check(nil), errNotAsked) {
		t.Errorf("before the first answer: %s, %v", check.Name(), check.Check(nil))
	}
	first, second := errors.New("first"), errors.New("second")
	answers := []error{first, first, second, nil}
	asked, seen := 0, []error{}
	check.poll(t.Context(), time.Millisecond, func(context.Context) error {
		seen = append(seen, check.Check(nil))
		asked++
		return answers[asked-1]
	})
	if asked != len(answers) || check.Check(nil) != nil {
		t.Errorf("asked %d times, and then: %v", asked, check.Check(nil))
	}
	for i, want := range []error{errNotAsked, first, first, second} {
		if !errors.Is(seen[i], want) {
			t.Errorf("before answer %d the check said %v, want %v", i, seen[i], want)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	var polls atomic.Int32
	never := newPending("never")
	never.poll(ctx, time.Millisecond, func(context.Context) error {
		if polls.Add(1) == 3 {
			cancel()
		}
		return first
	})
	if !errors.Is(never.Check(nil), first) {
		t.Errorf("after the end: %v", never.Check(nil))
	}
}
