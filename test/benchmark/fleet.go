package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned"
	"github.com/binnacle-dev/binnacle/pkg/generated/clientset/versioned/scheme"
	"github.com/binnacle-dev/binnacle/test/framework"
)

// fleet is clusters that report, each with a token of its own.
type fleet struct {
	*bench
	config *rest.Config
	tokens []string
	// gpus are the free GPUs of each cluster, which stay until they change.
	gpus   []atomic.Int64
	values map[string]float64
	// patient takes 429 for an answer: while every right has to be asked for, that is what some are told.
	patient bool
	// sent is called with the facts of a cluster right before they are sent, if they are others than before.
	sent func(cluster, gpus int)
}

// tokens makes a service account for each cluster, which may report, and returns their tokens.
func (b *bench) tokens(ctx context.Context) ([]string, error) {
	b.say("service accounts")
	client := kubernetes.NewForConfigOrDie(b.hub.AdminConfig())
	if err := b.allowReports(ctx, client.RbacV1()); err != nil {
		return nil, err
	}
	accounts := client.CoreV1().ServiceAccounts(namespace)
	tokens := make([]string, b.clusters)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(b.connections)
	for i := range tokens {
		group.Go(func() error {
			if _, err := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name(i)}}, metav1.CreateOptions{}); err != nil {
				return err
			}
			token, err := accounts.CreateToken(ctx, name(i), &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			tokens[i] = token.Status.Token
			return err
		})
	}
	return tokens, group.Wait()
}

// allowReports lets the service accounts report.
func (b *bench) allowReports(ctx context.Context, client rbacclient.RbacV1Interface) error {
	_, err := client.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: reporters},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"binnacle.dev"}, Resources: []string{"clusterstatuses/report"}, Verbs: []string{"create"}}}}, metav1.CreateOptions{})
	_, err2 := client.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: reporters},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: reporters},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts:" + namespace}}}, metav1.CreateOptions{})
	return errors.Join(err, err2)
}

// anonymously is a configuration without a certificate.
func anonymously(config *rest.Config) *rest.Config { return rest.AnonymousClientConfig(config) }

// facts is a report of the size of heartbeatPatch.
func facts(i, gpus int) *v1alpha1.ClusterReport {
	amounts := func(gpus int) corev1.ResourceList {
		return corev1.ResourceList{
			"cpu": *resource.NewMilliQuantity(int64(64_000+i*500), resource.DecimalSI), "memory": *resource.NewQuantity(int64(256+i)<<30, resource.BinarySI),
			"ephemeral-storage": *resource.NewQuantity(int64(900+i)<<30, resource.BinarySI), "pods": *resource.NewQuantity(440, resource.DecimalSI),
			"nvidia.com/gpu": *resource.NewQuantity(int64(gpus), resource.DecimalSI),
		}
	}
	r := &v1alpha1.ClusterReport{Spec: v1alpha1.ClusterReportSpec{
		Time: &metav1.Time{Time: time.Now()}, KubernetesVersion: "v1.37.2", Nodes: &v1alpha1.NodeCounts{Total: 4, Ready: 4},
		Resources:  &v1alpha1.ClusterResources{Capacity: amounts(1000), Allocatable: amounts(1000), Available: amounts(gpus)},
		Conditions: []v1alpha1.ReportedCondition{{Type: "ControlPlaneHealthy", Status: metav1.ConditionTrue, Reason: "Healthy", Message: "readyz says ok"}},
	}}
	for p := range 12 {
		r.Spec.Properties = append(r.Spec.Properties, v1alpha1.ReportedProperty{Name: fmt.Sprintf("property-%02d.example.com/fact", p), Value: fmt.Sprintf("value %d of cluster %d", p, i)})
	}
	return r
}

// heartbeatPatch is the same facts as a status patch of a ClusterProfile, which has no field for resources.
func heartbeatPatch(i, round int) string {
	r := facts(i, round)
	var properties []string
	property := func(name, value string) {
		properties = append(properties, fmt.Sprintf(`{"name":%q,"value":%q,"lastObservedTime":%q}`, name, value, time.Now().UTC().Format(time.RFC3339)))
	}
	for _, p := range r.Spec.Properties {
		property(p.Name, p.Value)
	}
	for kind, list := range map[string]corev1.ResourceList{"capacity": r.Spec.Resources.Capacity, "allocatable": r.Spec.Resources.Allocatable, "available": r.Spec.Resources.Available} {
		for name, amount := range list {
			property(kind+"."+strings.ReplaceAll(string(name), "/", "."), amount.String())
		}
	}
	slices.Sort(properties)
	return fmt.Sprintf(`{"status":{"version":{"kubernetes":"v1.37.2"},"conditions":[{"type":"ControlPlaneHealthy","status":"True","reason":"Healthy","message":"readyz says ok","lastTransitionTime":"2026-11-30T12:00:00Z"}],"properties":[%s]}}`,
		strings.Join(properties, ","))
}

// changing is the share of reports whose facts changed: a tenth of the clusters in 30 seconds.
func (f fleet) changing() float64 { return 0.1 * f.interval.Seconds() / 30 }

// run has each cluster report once in each interval, spread over it, and returns how many reports that were. It is an error if the
// fleet cannot keep the pace or a report is refused.
func (f fleet) run(ctx context.Context, d time.Duration) (int, error) {
	serializer, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return 0, fmt.Errorf("no serializer for %s", runtime.ContentTypeProtobuf)
	}
	encoder := scheme.Codecs.EncoderForVersion(serializer.Serializer, v1alpha1.SchemeGroupVersion)
	pace := f.interval / time.Duration(f.clusters)
	total := int64(d / pace)
	var next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	late := time.Duration(0)
	started := time.Now()
	var wg sync.WaitGroup
	for range f.fleetConnections {
		own := rest.CopyConfig(f.config)
		own.NextProtos = []string{"http/1.1"}
		client, err := rest.HTTPClientFor(own)
		if err != nil {
			return 0, err
		}
		wg.Go(func() {
			for {
				k := next.Add(1) - 1
				if k >= total || ctx.Err() != nil {
					return
				}
				due := started.Add(time.Duration(k) * pace)
				time.Sleep(time.Until(due))
				behind := time.Since(due)
				sent := time.Now()
				err := f.report(ctx, client, encoder, int(k)%f.clusters)
				mu.Lock()
				took, late = append(took, time.Since(sent)), max(late, behind)
				if err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if failed != nil || ctx.Err() != nil {
		return len(took), fmt.Errorf("%w %w", failed, ctx.Err())
	}
	slices.Sort(took)
	f.values["p50 ms"], f.values["p99 ms"] = milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100])
	f.values["latest report s"] = late.Seconds()
	return len(took), nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

func (f fleet) report(ctx context.Context, client *http.Client, encoder runtime.Encoder, i int) error {
	if rand.Float64() < f.changing() {
		gpus := rand.IntN(900)
		f.gpus[i].Store(int64(gpus))
		if f.sent != nil {
			f.sent(i, gpus)
		}
	}
	body, err := runtime.Encode(encoder, facts(i, int(f.gpus[i].Load())))
	if err != nil {
		return err
	}
	url := fmt.Sprintf("%s/apis/binnacle.dev/v1alpha1/namespaces/%s/clusterstatuses/%s/report", f.config.Host, namespace, name(i))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", runtime.ContentTypeProtobuf)
	req.Header.Set("Accept", runtime.ContentTypeProtobuf)
	req.Header.Set("Authorization", "Bearer "+f.tokens[i])
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if f.patient && resp.StatusCode == http.StatusTooManyRequests {
		return err
	}
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("report of %s: %d %s", name(i), resp.StatusCode, answer[:min(len(answer), 300)])
	}
	return err
}

// freshness measures how long a changed fact takes from its report to a watcher on another replica: p50 and p99 in milliseconds.
func (b *bench) freshness(ctx context.Context, f fleet) ([2]float64, error) {
	b.say("freshness")
	other, err := b.hub.StartReplica(ctx, framework.ServerOptions{Name: "other", Etcd: b.store})
	if err != nil {
		return [2]float64{}, err
	}
	defer func() { _ = other.Stop() }()
	client, err := versioned.NewForConfig(other.ConfigFor("admin", framework.AdminGroup))
	if err != nil {
		return [2]float64{}, err
	}
	list, err := client.BinnacleV1alpha1().ClusterStatuses(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return [2]float64{}, err
	}
	watch, err := client.BinnacleV1alpha1().ClusterStatuses(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return [2]float64{}, err
	}
	var mu sync.Mutex
	sent := map[string]time.Time{}
	var took []time.Duration
	f.values = map[string]float64{}
	// The other replica takes the machine for itself while it starts, and the fleet then catches up faster than a server takes.
	f.patient = true
	f.sent = func(cluster, gpus int) {
		mu.Lock()
		defer mu.Unlock()
		sent[fmt.Sprint(name(cluster), gpus)] = time.Now()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			status, ok := event.Object.(*v1alpha1.ClusterStatus)
			if !ok || status.Status.Resources == nil {
				continue
			}
			available := status.Status.Resources.Available["nvidia.com/gpu"]
			key := fmt.Sprint(status.Name, available.Value())
			mu.Lock()
			if at, ok := sent[key]; ok {
				took = append(took, time.Since(at))
				delete(sent, key)
			}
			mu.Unlock()
		}
	}()
	_, err = f.run(ctx, min(b.fleetDuration, time.Minute))
	if err == nil {
		err = wait(ctx, 6*time.Second)
	}
	watch.Stop()
	<-done
	if err != nil || len(took) == 0 {
		return [2]float64{}, fmt.Errorf("%d changed facts were seen: %w", len(took), err)
	}
	slices.Sort(took)
	return [2]float64{milliseconds(took[len(took)/2]), milliseconds(took[len(took)*99/100])}, nil
}
