package clusterstatus_test

import (
	"testing"
	"time"
)

// TestAskForProgressDoesNotWaitForEtcd keeps a read from waiting for a stream that is being opened anew, for as long as etcd is away.
func TestAskForProgressDoesNotWaitForEtcd(t *testing.T) {
	h := newHub(t)
	r := h.start()
	h.stopEtcd()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		// The first ones may be taken by a stream that has not noticed yet.
		for range 20 {
			r.engine.AskForProgress()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		t.Fatal("it waits for etcd")
	}
}
