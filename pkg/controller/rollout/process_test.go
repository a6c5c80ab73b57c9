package rollout_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/binnacle-dev/binnacle/pkg/controller/rollout"
)

// endpointVariable makes of this test's binary a replica that says when it ticks.
const endpointVariable = "BINNACLE_TEST_REPLICA_OF"

// TestMain runs a replica where TestStoppedProcess asks for one.
func TestMain(m *testing.M) {
	if endpoint := os.Getenv(endpointVariable); endpoint != "" {
		runReplica(endpoint)
		return
	}
	os.Exit(m.Run())
}

func runReplica(endpoint string) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		panic(err)
	}
	rollout.New(rollout.Config{Client: client, Prefix: prefix, Identity: "process", Rollouts: speaker{}, Workers: 1, Clock: clock.RealClock{}}).Run(context.Background())
}

// speaker says when it ticks.
type speaker struct{}

// List implements rollout.Rollouts.
func (speaker) List(context.Context) ([]types.NamespacedName, error) {
	return []types.NamespacedName{{Namespace: "fleet", Name: "x"}}, nil
}

// Tick implements rollout.Rollouts.
func (speaker) Tick(context.Context, string, string) (time.Time, error) {
	now := time.Now()
	fmt.Println(now.UnixMicro())
	return now, nil
}

// TestStoppedProcess stops the process of the holder for longer than the lease: when it goes on, it does not tick before it holds the lease
// again.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), endpointVariable+"="+h.endpoint)
	said, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = process.Process.Kill(); _ = process.Wait() })
	var last atomic.Int64
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if at, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
				last.Store(at)
			}
		}
	}()
	h.eventually("the process to hold the lease", h.holds("process"))
	// What is due is ticked before the lease is held, too, and a moment after that nothing is left of it.
	held := time.Now().Add(300 * time.Millisecond).UnixMicro()
	h.eventually("the process to tick", func() bool { return last.Load() > held })
	b := h.start("b", nil)
	if err := process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h.eventually("b to hold the lease", h.holds("b"))
	since := time.Now().UnixMicro()
	if err := process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	h.eventually("the process to stand behind", func() bool {
		response, err := h.client.Leases(t.Context())
		return err == nil && len(response.Leases) == 2
	})
	if at := last.Load(); at > since {
		t.Errorf("the process ticked %v after it had gone on", time.Duration(at-since)*time.Microsecond)
	}
	b.stop()
	h.eventually("the process to tick again", func() bool { return last.Load() > since })
}
