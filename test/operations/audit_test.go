package operations

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/audit/policy"

	"github.com/binnacle-dev/binnacle/test/framework"
)

// TestOwnOverlay makes what docs/operations/installing.md tells of an overlay of one's own, and runs the server with the audit policy that
// it adds: a call past the hub has its line on the standard output.
func TestOwnOverlay(t *testing.T) {
	root, err := framework.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	w := workloadOf(t, "../../test/operations/testdata/own-overlay")
	if c := w.container(); c.Image != "registry.internal/team/binnacle-apiserver:v0.1.0-amd64" || len(w.template.Spec.ImagePullSecrets) != 1 {
		t.Errorf("image %s, pulled with %v", c.Image, w.template.Spec.ImagePullSecrets)
	}
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(auditPolicy(t, w)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.LoadPolicyFromFile(file); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	args := []string{"--standalone", "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--data-dir=" + t.TempDir()}
	for _, arg := range w.container().Args {
		if strings.HasPrefix(arg, "--audit-") {
			args = append(args, strings.ReplaceAll(arg, "/etc/binnacle/audit/policy.yaml", file))
		}
	}
	out := &lines{}
	p := &process{cmd: exec.Command(filepath.Join(root, "bin", "binnacle-apiserver"), args...), done: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = out, t.Output()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.stop() })
	within(t, requestTimeout, "the server", func() bool { return probed(port, "/readyz") == 200 })
	probed(port, "/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles")
	within(t, requestTimeout, "the line", func() bool {
		return strings.Contains(out.String(), `"requestURI":"/apis/multicluster.x-k8s.io/v1alpha1/clusterprofiles"`)
	})
	if strings.Contains(out.String(), `"requestURI":"/readyz"`) {
		t.Errorf("probes are audited: %s", out)
	}
}

// auditPolicy returns what the volume brings that holds the policy.
func auditPolicy(t *testing.T, w workload) string {
	t.Helper()
	for _, volume := range w.template.Spec.Volumes {
		configs := ofKind[corev1.ConfigMap](t, w.objects, "ConfigMap")
		i := slices.IndexFunc(configs, func(c corev1.ConfigMap) bool { return volume.ConfigMap != nil && c.Name == volume.ConfigMap.Name })
		if i < 0 {
			continue
		}
		for _, m := range w.container().VolumeMounts {
			if m.Name == volume.Name && m.MountPath == "/etc/binnacle/audit" && m.ReadOnly {
				return configs[i].Data["policy.yaml"]
			}
		}
	}
	t.Fatal("no volume has the policy")
	return ""
}

// lines is what a process writes while a test reads it.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}
