package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	binnacleapi "github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// plugin runs kubectl-binnacle as one user in one namespace.
type plugin struct {
	t         *testing.T
	kubectl   framework.Kubectl
	namespace string
}

func newPlugin(t *testing.T, config *rest.Config, namespace string) plugin {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := framework.WriteKubeconfig(kubeconfig, config); err != nil {
		t.Fatal(err)
	}
	return plugin{t, framework.Kubectl{Binary: filepath.Join(filepath.Dir(binary(t)), "kubectl-binnacle"), Kubeconfig: kubeconfig}, namespace}
}

// run returns what the plugin printed, and its exit code.
func (p plugin) run(args ...string) (out, errOut string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*requestTimeout)
	defer cancel()
	out, errOut, err := p.kubectl.Run(ctx, append([]string{"-n", p.namespace}, args...)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return out, errOut, exit.ExitCode()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return out, errOut, 0
}

// wants runs a command line, and wants an exit code and what is printed, on either stream, to match.
func (p plugin) wants(code int, line, expression string) string {
	p.t.Helper()
	out, errOut, got := p.run(strings.Fields(line)...)
	if got != code || !regexp.MustCompile("(?m)"+expression).MatchString(out+errOut) {
		p.t.Errorf("kubectl binnacle %s: %d, want %d and %q in\n%s%s", line, got, code, expression, out, errOut)
	}
	return out
}

// onEach runs a test through the hub and on a server without one.
func onEach(t *testing.T, test func(t *testing.T, config *rest.Config, namespace string)) {
	t.Run("hub", func(t *testing.T) { test(t, hub.AdminConfig(), newNamespace(t)) })
	t.Run("standalone", func(t *testing.T) { test(t, adminOf(t, startStandalone(t, framework.ServerOptions{})), "any") })
}

// TestPlugin runs each command once for good and once to be refused.
func TestPlugin(t *testing.T) {
	onEach(t, func(t *testing.T, config *rest.Config, namespace string) {
		d, p := newDecider(t, config, namespace), newPlugin(t, config, namespace)
		d.clusters(4)
		d.create(d.plan("web", 50, 75, 100))
		for _, command := range []string{"status", "preview", "history", "advance", "pause", "resume", "approve", "promote --reason=x", "abort", "rollback --to-revision=1", "retry"} {
			p.wants(1, "rollout "+command+" none", `^Error from server \(NotFound\): rollouts.binnacle.dev "none" not found$`)
		}
		p.wants(0, "rollout status web --watch=false", `^Waits for: the first advance$`)
		p.wants(0, "rollout history web", `^Nothing has moved rollout web yet\.$`)
		p.wants(0, "rollout preview web", `^Step p50 of rollout web \(not started\)\n\[#{20}-{20}\]  50%  2/4 clusters\nWOULD +CLUSTERS +FIRST\ncome in +2 +c\d, c\d$`)
		p.wants(0, "rollout preview web --step=p100", `^come in +4 +c\d, c\d, c\d, c\d$`)
		p.wants(0, "rollout preview web -o jsonpath={.status.step}", `^p50$`)
		p.wants(1, "rollout preview web --step=p33", `^Error from server \(BadRequest\): there is no step "p33": the steps are p50, p75, p100$`)

		p.wants(1, "rollout pause web", `^Error from server \(Conflict\): .*has not been started`)
		p.wants(1, "rollout advance web --observed-step=p50", `^Error from server \(Conflict\): .*observedStep`)
		p.wants(1, "rollout advance web --observed-revision=7", `^Error from server \(Conflict\): .*observedRevision`)
		p.wants(0, "rollout advance web --observed-step= --reason=go --idempotency-key=k", `\Arollout.binnacle.dev/web advanced\n2/4 clusters, step p50, Progressing, revision 1, waits for Advance\n\z`)
		p.wants(0, "rollout advance web --observed-step= --reason=go --idempotency-key=k", `^rollout.binnacle.dev/web advanced \(repeated, nothing changed\)$`)
		p.wants(0, "rollout pause web", `^2/4 clusters, step p50, Paused, revision 1, waits for Resume$`)
		p.wants(1, "rollout pause web", `^Error from server \(Conflict\): .*paused already`)
		p.wants(0, "rollout resume web -o name", `\Arollout.binnacle.dev/web\n\z`)
		p.wants(1, "rollout resume web", `^Error from server \(Conflict\): .*not paused`)
		p.wants(1, "rollout approve web", `^Error from server \(Conflict\): .*asks for no approval`)
		p.wants(1, "rollout retry web", `^Error from server \(Conflict\): .*none of the clusters failed`)
		p.wants(1, "rollout promote web", `^error: --reason is required`)
		p.wants(0, "rollout promote web --reason=INC-7", `(?s)promote lets 2 clusters in at once, whatever the gates\.$|^4/4 clusters, step p100, Completed`)
		p.wants(1, "rollout abort web", `^Error from server \(Conflict\): .*is complete`)
		p.wants(1, "rollout rollback web --to-revision=9", `^The RolloutAction "web" is invalid: spec.toRevision`)
		p.wants(0, "rollout rollback web --to-revision=1", `rollback ends the run and returns to revision 1: 2 clusters out, 0 clusters in\.`)
		p.wants(0, "rollout retry web -o yaml", `^  step: p75$`)
		p.wants(0, "rollout abort web --yes", `^rollout.binnacle.dev/web aborted$`)
		p.wants(0, "rollout history web", `^\S+ +advance +\S+ +p50 +1 +Progressing +go$`)
		p.wants(0, "rollout history web -o json", `"verb": "rollback"`)

		p.wants(0, "version", `^Binnacle v`)
		p.wants(1, "status -l a=,b==c==", `^Error from server \(BadRequest\): `)
	})
}

// TestPluginDryRun wants each verb to say what it would do, and nothing to be changed.
func TestPluginDryRun(t *testing.T) {
	onEach(t, func(t *testing.T, config *rest.Config, namespace string) {
		d, p := newDecider(t, config, namespace), newPlugin(t, config, namespace)
		d.clusters(4)
		plan := d.plan("web", 25, 50, 100)
		plan.Spec.FailureBudget = &v1alpha1.RolloutBudget{Count: ptr.To[int32](2)}
		d.create(plan)
		d.must("web", binnacleapi.VerbAdvance)
		if _, err := d.report("web", through(&d.get("web").Status)[0], 1, v1alpha1.OutcomeFailed); err != nil {
			t.Fatal(err)
		}
		before := d.get("web")
		for line, want := range map[string]string{
			"advance web": "2/4 clusters, step p50", "pause web": "Paused", "promote web --reason=x": "4/4 clusters", "abort web": "0/4 clusters.* Aborted",
			"rollback web --to-revision=1": "RolledBack", "retry web": "revision 2",
		} {
			p.wants(0, "rollout "+line+" --dry-run=server", `\(server dry run\)\n.*`+want)
		}
		p.wants(1, "rollout resume web --dry-run=server", `^Error from server \(Conflict\)`)
		p.wants(1, "rollout advance web --dry-run=client", `^error: --dry-run is none or server`)
		if after := d.get("web"); after.ResourceVersion != before.ResourceVersion {
			t.Errorf("resourceVersion %s was %s", after.ResourceVersion, before.ResourceVersion)
		}
	})
}

// TestPluginWaits waits while another client moves the rollout, with each exit code.
func TestPluginWaits(t *testing.T) {
	onEach(t, func(t *testing.T, config *rest.Config, namespace string) {
		d, p := newDecider(t, config, namespace), newPlugin(t, config, namespace)
		d.clusters(4)
		d.create(d.plan("web", 25, 50, 100))
		p.wants(3, "rollout status web --wait=step --timeout=1s", `^error: timed out after 1s waiting for step$`)
		p.wants(1, "rollout status web --wait=step=p33", `^error: the rollout has no step "p33": its steps are p25, p50, p100$`)

		waiting := func(line string) <-chan string {
			done := make(chan string, 1)
			go func() {
				out, errOut, code := p.run(strings.Fields(line)...)
				done <- fmt.Sprintf("%d\n%s%s", code, out, errOut)
			}()
			return done
		}
		atStep, whole, stopped := waiting("rollout status web --wait=step=p50"), waiting("rollout status web"), waiting("rollout status web --wait -o name")
		d.must("web", binnacleapi.VerbAdvance)
		select {
		case ended := <-atStep:
			t.Errorf("ended before the step: %s", ended)
		case <-time.After(100 * time.Millisecond): // Time to be wrong; right is what follows.
		}
		d.must("web", binnacleapi.VerbAdvance)
		if got := <-atStep; !regexp.MustCompile(`(?s)\A0\nTIME +CLUSTERS +STEP +PHASE +REV +WAITS-FOR\n.*p50 \(2/3\) +Progressing +2 +Advance\n\z`).MatchString(got) {
			t.Errorf("--wait=step=p50: %s", got)
		}
		p.wants(0, "rollout status web --wait=step", `^\S+ +2/4 +p50 \(2/3\) +Progressing +2 +Advance$`)
		d.must("web", binnacleapi.VerbAbort)
		if got := <-stopped; !strings.HasPrefix(got, "2\nrollout.binnacle.dev/web\nerror: rollout web is Aborted") {
			t.Errorf("--wait of an aborted rollout: %s", got)
		}
		if got := <-whole; !regexp.MustCompile(`(?s)\A0\nTIME.* 0/4 .*Aborted +3\n\z`).MatchString(got) {
			t.Errorf("following to the end: %s", got)
		}
		p.wants(0, "rollout status web --wait=phase=Aborted", `Aborted`)
		p.wants(2, "rollout status web --wait", `^error: rollout web is Aborted: complete will not come by itself$`)

		gone := waiting("rollout status more --wait")
		if got := <-gone; !strings.HasPrefix(got, "1\nError from server (NotFound)") {
			t.Errorf("a rollout that does not exist: %s", got)
		}
		d.create(d.plan("more", 50, 100))
		gone = waiting("rollout status more --wait")
		if err := d.rollouts().Delete(t.Context(), "more", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := <-gone; !regexp.MustCompile(`(?s)\A1\n.*Error from server \(NotFound\): rollouts.binnacle.dev "more" not found\n\z`).MatchString(got) {
			t.Errorf("a rollout that was deleted: %s", got)
		}
	})
}

// TestPluginSoaks waits for a soak that ends without anybody writing.
func TestPluginSoaks(t *testing.T) {
	d := newDecider(t, hub.AdminConfig(), newNamespace(t))
	p := newPlugin(t, hub.AdminConfig(), d.namespace)
	d.clusters(2)
	plan := d.plan("web", 50, 100)
	plan.Spec.Steps[0].Gate = &v1alpha1.RolloutGate{Soak: &metav1.Duration{Duration: 2 * time.Second}}
	d.create(plan)
	d.must("web", binnacleapi.VerbAdvance)
	p.wants(0, "rollout status web --wait=step", `Soak until \S+\n.* Advance$`)
	d.must("web", binnacleapi.VerbAdvance)
}

// TestPluginReconnects follows a rollout while its server is restarted.
func TestPluginReconnects(t *testing.T) {
	s := startStandalone(t, framework.ServerOptions{})
	d, p := newDecider(t, adminOf(t, s), "any"), newPlugin(t, adminOf(t, s), "any")
	d.clusters(2)
	d.create(d.plan("web", 50, 100))
	log := filepath.Join(t.TempDir(), "out")
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.CommandContext(t.Context(), p.kubectl.Binary, "--kubeconfig="+p.kubectl.Kubeconfig, "-n=any", "rollout", "status", "web", "--wait", "--timeout=2m")
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := func(text string) func() bool {
		return func() bool {
			out, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(out), text)
		}
	}
	eventually(t, "the plugin to follow", said("Pending"))
	d.must("web", binnacleapi.VerbAdvance)
	eventually(t, "the plugin to see a step", said("p50 (1/2)"))
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, "the plugin to say that it lost the server", said("Connection lost"))
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.must("web", binnacleapi.VerbAdvance)
	err = cmd.Wait()
	if out, _ := os.ReadFile(log); err != nil || !regexp.MustCompile(` 2/2 +p100 \(2/2\) +Completed `).Match(out) {
		t.Errorf("%v: %s", err, out)
	}
}
