package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
)

// reportPatience is how long admission may take, as in the library.
const reportPatience = 34 * time.Second

var (
	reportResource = v1alpha1.SchemeGroupVersion.WithResource("clusterstatuses")
	reportKind     = v1alpha1.SchemeGroupVersion.WithKind("ClusterReport")
)

// reportHandler takes the reports that nearly every reporter sends: in protobuf, and without parameters. It does what the library's handler
// of creates does, with its parts and in its order, but on one goroutine, without spans and without owners of fields, which a report does
// not have: that is a good part of what a report costs. What is out of the ordinary goes to the library's, before anything was done.
type reportHandler struct {
	library http.Handler
	admit   admission.Interface
	// objects and storage are there once the resource is installed.
	objects admission.ObjectInterfaces
	storage rest.NamedCreater
	decoder runtime.Decoder
}

// objectInterfaces are those of the scheme, with the resources that the server knows as equivalent.
type objectInterfaces struct {
	admission.ObjectInterfaces
	equivalent runtime.EquivalentResourceMapper
}

func (o objectInterfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return o.equivalent
}

// serve lets the handler take reports. Before the server runs, nobody calls it at the same time.
func (h *reportHandler) serve(storage rest.NamedCreater, equivalent runtime.EquivalentResourceMapper) {
	info, ok := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	if !ok {
		return
	}
	h.decoder = Codecs.DecoderToVersion(info.Serializer, runtime.InternalGroupVersioner)
	h.objects = objectInterfaces{admission.NewObjectInterfacesFromScheme(Scheme), equivalent}
	h.storage = storage
}

// ServeHTTP stands after authorization.
func (h *reportHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	report := h.ordinary(req)
	if report == nil {
		h.library.ServeHTTP(w, req)
		return
	}
	metrics.InstrumentHandlerFunc(http.MethodPost, reportResource.Group, reportResource.Version, reportResource.Resource, reports.Name, "resource",
		metrics.APIServerComponent, false, "", func(w http.ResponseWriter, req *http.Request) { h.create(w, req, report) })(w, req)
}

// mayBeOrdinary says of a report, before its body is read, whether the handler of ordinary ones is to look at it. What that does not take, the
// library refuses before it begins anything: a body that is none, an answer that nobody can give, a path with more parts.
func mayBeOrdinary(req *http.Request) bool {
	return req.URL.RawQuery == "" && req.Header.Get("Content-Type") == runtime.ContentTypeProtobuf
}

// ordinary decodes a report that this handler takes, and is nil for any other request.
func (h *reportHandler) ordinary(req *http.Request) *binnacle.ClusterReport {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || h.storage == nil || !reports.Created(info) || info.APIVersion != reportResource.Version || !mayBeOrdinary(req) ||
		len(info.Parts) != 3 || info.Namespace == "" || info.Name == "" {
		return nil
	}
	body := filters.WholeBody(req)
	if len(body) == 0 {
		return nil
	}
	if _, _, err := negotiation.NegotiateOutputMediaType(req, Codecs, negotiation.DefaultEndpointRestrictions); err != nil {
		return nil
	}
	report := &binnacle.ClusterReport{}
	kind := reportKind
	decoded, gvk, err := h.decoder.Decode(body, &kind, report)
	if err != nil || *gvk != reportKind {
		return nil
	}
	report, _ = decoded.(*binnacle.ClusterReport)
	return report
}

func (h *reportHandler) create(w http.ResponseWriter, req *http.Request, report *binnacle.ClusterReport) {
	ctx, cancel := context.WithTimeout(req.Context(), reportPatience)
	defer cancel()
	audit.LogRequestObject(ctx, report, reportKind.GroupVersion(), reportResource, reports.Name, Codecs)
	result, err := h.admitted(ctx, report)
	if err != nil && ctx.Err() != nil {
		err = apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", ctx.Err()), 0)
	}
	if err != nil {
		responsewriters.ErrorNegotiated(err, Codecs, reportKind.GroupVersion(), w, req)
		return
	}
	responsewriters.WriteObjectNegotiated(Codecs, negotiation.DefaultEndpointRestrictions, reportKind.GroupVersion(), w, req, http.StatusCreated, result, false)
}

// admitted runs the plugins of admission around the storage.
func (h *reportHandler) admitted(ctx context.Context, report *binnacle.ClusterReport) (runtime.Object, error) {
	info, _ := request.RequestInfoFrom(ctx)
	caller, _ := request.UserFrom(ctx)
	options := &metav1.CreateOptions{TypeMeta: metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "CreateOptions"}}
	admit := admission.WithAudit(h.admit)
	attributes := admission.NewAttributesRecord(report, nil, reportKind, info.Namespace, info.Name, reportResource, reports.Name,
		admission.Create, options, false, caller)
	ctx = request.WithNamespace(ctx, info.Namespace)
	if mutating, ok := admit.(admission.MutationInterface); ok && mutating.Handles(admission.Create) {
		if err := mutating.Admit(ctx, attributes, h.objects); err != nil {
			return nil, err
		}
	}
	return h.storage.Create(ctx, info.Name, report, rest.AdmissionToValidateObjectFunc(admit, attributes, h.objects), options)
}
