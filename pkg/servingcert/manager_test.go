package servingcert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestWhoseBundleIsWritten leaves the bundle of everybody alone who is not registered for our Service.
func TestWhoseBundleIsWritten(t *testing.T) {
	named := func(name string, service *apiregistrationv1.ServiceReference) *apiregistrationv1.APIService {
		return &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: apiregistrationv1.APIServiceSpec{Service: service, CABundle: []byte("theirs")}}
	}
	registered := aggregator.NewSimpleClientset(
		named("ours", &apiregistrationv1.ServiceReference{Namespace: "system", Name: "server"}),
		named("another-namespace", &apiregistrationv1.ServiceReference{Namespace: "other", Name: "server"}),
		named("another-name", &apiregistrationv1.ServiceReference{Namespace: "system", Name: "other"}),
		named("of-the-hub", nil),
	).ApiregistrationV1()
	m := &Manager{Config: Config{
		Namespace: "system", Secret: "cert", ServiceNamespace: "system", Service: "server",
		APIServices: []string{"ours", "another-namespace", "another-name", "of-the-hub", "not-there"},
		Client:      fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "cert"}}), Registration: registered,
		Clock: clocktesting.NewFakePassiveClock(metav1.Now().Time),
	}}
	if err := m.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := registered.APIServices().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, service := range list.Items {
		if written := string(service.Spec.CABundle) != "theirs"; written != (service.Name == "ours") {
			t.Errorf("%s: bundle written: %t", service.Name, written)
		}
	}
}
