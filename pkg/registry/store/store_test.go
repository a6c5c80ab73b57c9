package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/install"
	"github.com/binnacle-dev/binnacle/pkg/apis/multicluster/v1alpha1"
)

// failing is a storage in which every write ends with the same error, and that counts them.
type failing struct {
	storage.Interface
	err    error
	writes int
}

func (f *failing) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	f.writes++
	return f.err
}

// GuaranteedUpdate asks for the change of one old object, and then fails if that did not.
func (f *failing) GuaranteedUpdate(_ context.Context, _ string, _ runtime.Object, _ bool, _ *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	old := newDecision()
	old.UID, old.ResourceVersion = "uid", "7"
	if _, _, err := update(old, storage.ResponseMeta{ResourceVersion: 7}); err != nil {
		return err
	}
	f.writes++
	return f.err
}

func (f *failing) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func newDecision() *multicluster.PlacementDecision {
	return &multicluster.PlacementDecision{ObjectMeta: metav1.ObjectMeta{Name: "payments-0", Namespace: "fleet"}, Decisions: multicluster.ClusterDecisions{}}
}

// strategy is the common one with the two methods that each kind adds.
type strategy struct{ Strategy }

func (strategy) PrepareForCreate(context.Context, runtime.Object)                 {}
func (strategy) PrepareForUpdate(context.Context, runtime.Object, runtime.Object) {}

// newStore returns a store of PlacementDecisions over a storage, and the context of a request to it.
func newStore(t *testing.T, backend storage.Interface) (*Store, context.Context) {
	t.Helper()
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(v1alpha1.SchemeGroupVersion)
	s := strategy{NewStrategy(scheme)}
	generics := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &multicluster.PlacementDecision{} },
		NewListFunc:               func() runtime.Object { return &multicluster.PlacementDecisionList{} },
		DefaultQualifiedResource:  multicluster.Resource("placementdecisions"),
		SingularQualifiedResource: multicluster.Resource("placementdecision"),
		CreateStrategy:            s, UpdateStrategy: s, DeleteStrategy: s,
		TableConvertor: rest.NewDefaultTableConvertor(multicluster.Resource("placementdecisions")),
	}
	options := generic.RESTOptions{
		ResourcePrefix: "placementdecisions",
		StorageConfig:  storagebackend.NewDefaultConfig("/test", codec).ForResource(multicluster.Resource("placementdecisions")),
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object, func() runtime.Object,
			storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return backend, func() {}, nil
		},
	}
	if err := generics.CompleteWithOptions(&generic.StoreOptions{RESTOptions: options}); err != nil {
		t.Fatal(err)
	}
	ctx := request.WithRequestInfo(request.WithNamespace(t.Context(), "fleet"), &request.RequestInfo{
		IsResourceRequest: true, APIGroup: multicluster.GroupName, APIVersion: "v1alpha1", Resource: "placementdecisions"})
	return &Store{Store: generics, Kind: "PlacementDecision"}, ctx
}

func create(ctx context.Context, s *Store, decision *multicluster.PlacementDecision) error {
	_, err := s.Create(ctx, decision, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	return err
}

func update(ctx context.Context, s *Store, decision *multicluster.PlacementDecision) error {
	decision.ResourceVersion = "7"
	_, _, err := s.Update(ctx, decision.Name, rest.DefaultUpdatedObjectInfo(decision), rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return err
}

var writes = map[string]func(context.Context, *Store, *multicluster.PlacementDecision) error{"create": create, "update": update}

func TestMalformedIsRefused(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			backend := &failing{}
			s, ctx := newStore(t, backend)
			decision := newDecision()
			decision.SetMalformed(&multicluster.Malformed{Errors: field.ErrorList{
				field.TypeInvalid(field.NewPath("schedulerName"), 5, "must be of type string"),
				field.Required(field.NewPath("decisions").Index(0).Child("clusterProfileRef"), ""),
			}})
			err := write(ctx, s, decision)
			if !apierrors.IsInvalid(err) || backend.writes > 0 {
				t.Fatalf("error %v after %d writes", err, backend.writes)
			}
			details := err.(apierrors.APIStatus).Status().Details
			var fields []string
			for _, cause := range details.Causes {
				fields = append(fields, string(cause.Type)+" "+cause.Field)
			}
			if diff := cmp.Diff([]string{"FieldValueTypeInvalid schedulerName", "FieldValueRequired decisions[0].clusterProfileRef"}, fields); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			if details.Group != "multicluster.x-k8s.io" || details.Kind != "PlacementDecision" || details.Name != "payments-0" {
				t.Errorf("details %+v", details)
			}
		})
		t.Run(name+" of a sound one", func(t *testing.T) {
			backend := &failing{err: errors.New("reached the storage")}
			s, ctx := newStore(t, backend)
			if err := write(ctx, s, newDecision()); err == nil || backend.writes != 1 {
				t.Errorf("error %v after %d writes", err, backend.writes)
			}
		})
	}
}

// TestTooLarge maps etcd's refusals, in the words that etcd and its client use.
func TestTooLarge(t *testing.T) {
	texts := []string{
		"etcdserver: request is too large",
		"rpc error: code = ResourceExhausted desc = trying to send message larger than max (3000123 vs. 2097152)",
	}
	for name, write := range writes {
		for _, text := range texts {
			t.Run(name+"/"+text, func(t *testing.T) {
				s, ctx := newStore(t, &failing{err: storage.NewInternalError(errors.New(text))})
				decision := newDecision()
				decision.SchedulerName = strings.Repeat("x", 100_000)
				err := write(ctx, s, decision)
				if !apierrors.IsRequestEntityTooLargeError(err) {
					t.Fatalf("error %v, want 413", err)
				}
				size, ok := s.stored(decision)
				if !ok || size < 100_000 {
					t.Fatalf("size %d, %v", size, ok)
				}
				for _, part := range []string{"PlacementDecision", "1572864 bytes"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q does not say %q", err, part)
					}
				}
				var told int
				if _, err := fmt.Sscanf(err.Error()[strings.Index(err.Error(), "the PlacementDecision is "):], "the PlacementDecision is %d bytes", &told); err != nil || told < 100_000 || told > size+100 {
					t.Errorf("%q does not say how large it is, about %d: %v", err, size, err)
				}
			})
		}
	}
}

// TestFull says what to do about an etcd that takes no writes.
func TestFull(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			s, ctx := newStore(t, &failing{err: errors.New("etcdserver: mvcc: database space exceeded")})
			if err := write(ctx, s, newDecision()); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "etcd is full") || !strings.Contains(err.Error(), "disarm its alarm") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestOtherErrorsAreLeftAlone(t *testing.T) {
	for name, write := range writes {
		for _, cause := range []error{
			storage.NewKeyNotFoundError("/test/payments-0", 7), context.DeadlineExceeded,
			// Whoever writes an object, or a policy, can put etcd's words into an answer.
			apierrors.NewBadRequest("a policy says: etcdserver: mvcc: database space exceeded"),
			apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("etcdserver: request is too large")),
		} {
			t.Run(name+"/"+cause.Error(), func(t *testing.T) {
				s, ctx := newStore(t, &failing{err: cause})
				err := write(ctx, s, newDecision())
				if err == nil || apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcd is full") {
					t.Errorf("error %v", err)
				}
			})
		}
	}
}

// TestSizeUnknown answers 413 also where nobody can tell the size.
func TestSizeUnknown(t *testing.T) {
	s, _ := newStore(t, &failing{})
	err := s.explain(errors.New(tooLarge[0]), nil)
	if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "1572864 bytes") {
		t.Errorf("error %v", err)
	}
	if err := s.explain(nil, newDecision()); err != nil {
		t.Errorf("no error became %v", err)
	}
}
