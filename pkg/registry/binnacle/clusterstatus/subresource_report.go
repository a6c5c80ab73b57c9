package clusterstatus

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/validation"
	"github.com/binnacle-dev/binnacle/pkg/registry/store"
	"github.com/binnacle-dev/binnacle/pkg/report"
	"github.com/binnacle-dev/binnacle/pkg/report/pages"
)

// View is what reports are held against.
type View interface {
	// Check returns nil once the view is loaded; else the error is the answer.
	Check() error
	// Barrier returns once the view has everything that is in etcd; its error is an answer.
	Barrier(ctx context.Context) (int64, error)
	// Profile returns the uid of the ClusterProfile namespace/name.
	Profile(cluster string) (types.UID, bool)
	// Read calls f with the state of the reports; its error is an answer.
	Read(f func(state *pages.State, exists func(types.UID) bool)) error
}

// ReportREST serves clusterstatuses/report.
type ReportREST struct {
	store.Strategy
	view  View
	table *report.Table
}

var (
	_ rest.NamedCreater = &ReportREST{}
	_ rest.Getter       = &ReportREST{}
	_ rest.Scoper       = &ReportREST{}
)

// NewReportREST returns the storage of reports.
func NewReportREST(scheme *runtime.Scheme, view View, table *report.Table) *ReportREST {
	return &ReportREST{store.NewStrategy(scheme), view, table}
}

// New returns an empty ClusterReport.
func (*ReportREST) New() runtime.Object { return &binnacle.ClusterReport{} }

// Destroy does nothing.
func (*ReportREST) Destroy() {}

// NamespaceScoped is true.
func (*ReportREST) NamespaceScoped() bool { return true }

// Create takes a report.
func (r *ReportREST) Create(ctx context.Context, name string, obj runtime.Object, createValidation rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	received, ok := obj.(*binnacle.ClusterReport)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a ClusterReport: %T", obj))
	}
	if err := r.view.Check(); err != nil {
		report.Refused(report.ReasonUnavailable)
		return nil, err
	}
	if err := checkMetadata(ctx, name, received); err != nil {
		report.Refused(report.ReasonInvalid)
		return nil, err
	}
	uid, err := r.profile(ctx, name)
	if apierrors.IsNotFound(err) {
		report.Refused(report.ReasonNoProfile)
		return nil, err
	} else if err != nil {
		report.Refused(report.ReasonUnavailable)
		return nil, err
	}
	spec := &v1alpha1.ClusterReportSpec{}
	if err := v1alpha1.Convert_binnacle_ClusterReportSpec_To_v1alpha1_ClusterReportSpec(&received.Spec, spec, nil); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	digest, err := pages.Digest(spec)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if !r.table.Knows(uid, digest) {
		if errs := r.validate(ctx, received); len(errs) > 0 {
			report.Refused(report.ReasonInvalid)
			return nil, apierrors.NewInvalid(binnacle.Kind("ClusterReport"), name, errs)
		}
	}
	if createValidation != nil {
		if err := createValidation(ctx, received); err != nil {
			report.Refused(report.ReasonDenied)
			return nil, err
		}
	}
	if want := received.Spec.ClusterProfileUID; want != nil && *want != uid {
		report.Refused(report.ReasonOtherUID)
		return nil, apierrors.NewConflict(binnacle.Resource("clusterstatuses"), name,
			fmt.Errorf("the report is for the ClusterProfile with uid %s, and the one of this name has uid %s", *want, uid))
	}
	answer, err := r.table.Accept(uid, spec, digest, dryrun.IsDryRun(options.DryRun))
	if err != nil {
		return nil, err
	}
	// Only what is new: to send every report back would be a good part of what it costs.
	return &binnacle.ClusterReport{
		Metadata: metav1.ObjectMeta{Name: name, Namespace: received.Metadata.Namespace},
		Status:   status(answer.Received, answer.Next, answer.Skew),
	}, nil
}

// checkMetadata refuses a report that says that it is for another cluster than the one it was sent to, or from a time that is none.
func checkMetadata(ctx context.Context, name string, received *binnacle.ClusterReport) error {
	if err := store.NameBody(ctx, name, &received.Metadata); err != nil {
		return err
	}
	received.Status = binnacle.ClusterReportStatus{}
	// Only protobuf can hold such a time, and only JSON could not send it on (RFC 3339, section 1).
	if at := received.Spec.Time; !at.IsZero() && (at.UTC().Year() < 0 || at.UTC().Year() > 9999) {
		return apierrors.NewInvalid(binnacle.Kind("ClusterReport"), name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "time"), at.Unix(), "must be within the years 0 and 9999"),
		})
	}
	return nil
}

// validate says everything that is wrong with a report.
func (r *ReportREST) validate(ctx context.Context, received *binnacle.ClusterReport) field.ErrorList {
	return append(validation.ValidateClusterReport(received),
		r.ValidateDeclaratively(ctx, received, nil, field.ErrorList{}, operation.Create, rest.DeclarativeValidationConfig{})...)
}

// profile returns the uid of the ClusterProfile of a name.
func (r *ReportREST) profile(ctx context.Context, name string) (types.UID, error) {
	cluster := request.NamespaceValue(ctx) + "/" + name
	if uid, ok := r.view.Profile(cluster); ok {
		return uid, nil
	}
	// It may have been created through another replica a moment ago.
	if _, err := r.view.Barrier(ctx); err != nil {
		return "", err
	}
	if uid, ok := r.view.Profile(cluster); ok {
		return uid, nil
	}
	return "", notFound("clusterstatuses", name, "there is no ClusterProfile of this name in the namespace")
}

// notFound is 404 that says what is missing.
func notFound(resource, name, why string) error {
	status := apierrors.NewNotFound(binnacle.Resource(resource), name)
	status.ErrStatus.Message += ": " + why
	return status
}

// Get returns the newest report, with its exact times.
func (r *ReportREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if _, err := r.view.Barrier(ctx); err != nil {
		return nil, err
	}
	uid, err := r.profile(ctx, name)
	if err != nil {
		return nil, err
	}
	var newest *v1alpha1.ClusterReportSpec
	var out binnacle.ClusterReport
	var published int64
	if err := r.view.Read(func(state *pages.State, _ func(types.UID) bool) {
		if entry, seen := state.Entry(uid); entry != nil {
			newest, published = &entry.Facts.Report, seen.LastSeen
			out.Status = status(seen.LastSeen, seen.Interval, nil)
			if skew := entry.Facts.ClockSkewSeconds; skew != 0 {
				out.Status.ClockSkewSeconds = &skew
			}
		}
	}); err != nil {
		return nil, err
	}
	// The cluster may have reported to another replica since, which was quicker to publish it.
	if arrival, ok := r.table.Newest(uid); ok && arrival.Received >= published {
		newest = arrival.Report
		out.Status = status(arrival.Received, arrival.Interval, nil)
		if !arrival.Report.Time.IsZero() {
			out.Status.ClockSkewSeconds = &arrival.Skew
		}
	}
	if newest == nil {
		return nil, notFound("clusterstatuses/report", name, "the cluster has not reported")
	}
	if err := v1alpha1.Convert_v1alpha1_ClusterReportSpec_To_binnacle_ClusterReportSpec(newest, &out.Spec, nil); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	out.Spec.ClusterProfileUID = &uid
	out.Metadata = metav1.ObjectMeta{Name: name, Namespace: request.NamespaceValue(ctx)}
	return &out, nil
}

func status(received int64, next int32, skew *int64) binnacle.ClusterReportStatus {
	return binnacle.ClusterReportStatus{
		ReceivedTime: &metav1.MicroTime{Time: time.UnixMilli(received)}, NextReportSeconds: next, ClockSkewSeconds: skew,
	}
}
