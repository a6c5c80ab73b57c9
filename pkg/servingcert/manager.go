package servingcert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	apiregistration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/clock"
)

// Config says what a Manager keeps.
type Config struct {
	// Namespace and Secret are where the certificate lives.
	Namespace, Secret string
	// ServiceNamespace and Service are the Service under which the hub reaches the server.
	ServiceNamespace, Service string
	// APIServices are the names of those whose caBundle is kept, as long as they lead to the Service.
	APIServices []string
	// Client and Registration are the server's identity on the hub.
	Client       kubernetes.Interface
	Registration apiregistration.APIServicesGetter
	// Clock is the time, for tests.
	Clock clock.PassiveClock
}

// hosts are the names under which a Service is reached inside its cluster, and for which the certificate is. The hub checks the third one.
func (c Config) hosts() []string {
	host := c.Service + "." + c.ServiceNamespace
	return []string{c.Service, host, host + ".svc", host + ".svc.cluster.local"}
}

// interval is how often the Secret and the APIServices are looked at: a replica serves what another has made at most so much later.
const interval = 30 * time.Second

// Manager keeps the certificate and hands it to the server.
type Manager struct {
	Config

	mu        sync.RWMutex
	cert, key []byte
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = &Manager{}
	_ dynamiccertificates.ControllerRunner       = &Manager{}
)

// Name implements dynamiccertificates.CertKeyContentProvider.
func (m *Manager) Name() string { return "secret::" + m.Namespace + "/" + m.Secret }

// CurrentCertKeyContent implements dynamiccertificates.CertKeyContentProvider.
func (m *Manager) CurrentCertKeyContent() (certPEM, keyPEM []byte) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.cert, m.key
}

// AddListener implements dynamiccertificates.Notifier.
func (m *Manager) AddListener(listener dynamiccertificates.Listener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.listeners = append(m.listeners, listener)
}

// RunOnce makes what is missing and loads what there is. The server cannot serve before it has succeeded once.
func (m *Manager) RunOnce(ctx context.Context) error {
	current, err := m.reconcile(ctx)
	if err != nil {
		return fmt.Errorf("the serving certificate in Secret %s/%s: %w", m.Namespace, m.Secret, err)
	}
	m.serve(current)
	return nil
}

// Run looks after the certificate until ctx ends.
func (m *Manager) Run(ctx context.Context, _ int) {
	wait.JitterUntilWithContext(ctx, func(ctx context.Context) {
		if err := m.RunOnce(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Cannot look after the serving certificate; the old one is served on")
		}
	}, interval, 0.2, false)
}

// serve hands a certificate to the server where it is a new one.
func (m *Manager) serve(current state) {
	m.mu.Lock()
	changed := !bytes.Equal(m.cert, current.leafPEM) || !bytes.Equal(m.key, current.keyPEM)
	m.cert, m.key = current.leafPEM, current.keyPEM
	listeners := slices.Clone(m.listeners)
	m.mu.Unlock()
	if !changed {
		return
	}
	klog.InfoS("Serving certificate loaded", "notAfter", current.leaf.NotAfter, "secret", klog.KRef(m.Namespace, m.Secret))
	for _, listener := range listeners {
		listener.Enqueue()
	}
}

// conflicts is how often a replica tries again after another one has written the Secret first. It then reads what that one wrote.
const conflicts = 5

// reconcile brings the Secret and the APIServices one step further and returns what is to be served.
func (m *Manager) reconcile(ctx context.Context) (state, error) {
	var last error
	for range conflicts {
		current, err := m.step(ctx)
		if err == nil {
			return current, nil
		}
		if last = err; !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return state{}, last
}

func (m *Manager) step(ctx context.Context) (state, error) {
	secrets := m.Client.CoreV1().Secrets(m.Namespace)
	secret, err := secrets.Get(ctx, m.Secret, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return state{}, err
	}
	if missing {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: m.Secret, Namespace: m.Namespace}, Type: corev1.SecretTypeOpaque}
	}
	current, err := parse(secret.Data)
	if err != nil {
		return state{}, fmt.Errorf("%w; delete the Secret to have a new one made", err)
	}
	// First the hub is told whom to trust, then a certificate may be signed by whom it trusts.
	trusted, err := m.inject(ctx, current)
	if err != nil {
		return state{}, err
	}
	next, changed, err := current.next(m.Clock.Now(), m.hosts(), trusted)
	if err != nil || !changed {
		return next, err
	}
	if secret.Data, err = next.data(); err != nil {
		return state{}, err
	}
	if missing {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	}
	if err != nil {
		return state{}, err
	}
	// A new CA is of no use before the hub trusts it.
	_, err = m.inject(ctx, next)
	return next, err
}

// inject writes the bundle into each APIService that has another, and returns what all of them trust by then.
func (m *Manager) inject(ctx context.Context, s state) ([]byte, error) {
	if len(s.bundle) == 0 {
		return nil, nil
	}
	bundle, err := cert.EncodeCertificates(s.bundle...)
	if err != nil {
		return nil, err
	}
	var failed []error
	for _, name := range m.APIServices {
		if err := m.injectInto(ctx, name, bundle); err != nil {
			failed = append(failed, fmt.Errorf("APIService %s: %w", name, err))
		}
	}
	return bundle, errors.Join(failed...)
}

func (m *Manager) injectInto(ctx context.Context, name string, bundle []byte) error {
	services := m.Registration.APIServices()
	service, err := services.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // It is registered later, or not at all; until then nobody calls.
	}
	if err != nil || bytes.Equal(service.Spec.CABundle, bundle) {
		return err
	}
	// The hub's own, for a CRD, or another server's: the same, we are registered later. A server that waited for that would never be ready
	// for it, and another's bundle is not ours to replace.
	if behind := service.Spec.Service; behind == nil || behind.Namespace != m.ServiceNamespace || behind.Name != m.Service {
		return nil
	}
	patch, err := caBundlePatch(service.ResourceVersion, bundle)
	if err != nil {
		return err
	}
	_, err = services.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "binnacle-apiserver"})
	if err == nil {
		klog.InfoS("CA bundle written", "apiService", name)
	}
	return err
}
