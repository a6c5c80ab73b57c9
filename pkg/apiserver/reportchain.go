package apiserver

import (
	"net/http"
	"time"

	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericfeatures "k8s.io/apiserver/pkg/features"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/klog/v2"

	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle"
	"github.com/binnacle-dev/binnacle/pkg/apiserver/filters"
	"github.com/binnacle-dev/binnacle/pkg/report"
)

const (
	// maxReportBytes is how large the body of a report may be (design: a report is small, and there are very many).
	maxReportBytes = 64 << 10
	// reportsInFlight is how many reports are served at once, of ordinary ones and of others each. One takes less than a millisecond, but the first of each cluster waits for
	// the hub to be asked for its rights.
	reportsInFlight = 400
	// reportTimeout is how long a client has to send one.
	reportTimeout = 15 * time.Second
)

var reports = filters.Subresource{GroupResource: binnacle.Resource("clusterstatuses"), Name: "report"}

// reportsApart serves reports beside everything else, with a limit of their own: so a fleet that reports in a rush takes no place from
// anybody, and its requests, which are all alike and small, need not be put in fair order. On the hub they are, in the priority level
// binnacle-reports.
func reportsApart(build func(http.Handler, *genericapiserver.Config) http.Handler, config *genericapiserver.Config, handler http.Handler, direct *reportHandler, traced bool) http.Handler {
	handler = filters.WithoutTransforms(handler, Codecs, append(rolloutSubresources(), reports)...)
	own := *config
	own.FlowControl = nil
	own.MaxRequestsInFlight, own.MaxMutatingRequestsInFlight = reportsInFlight, reportsInFlight
	direct.library, direct.admit = handler, config.AdmissionControl
	short, long := buildReportChain(direct, &own, false), buildReportChain(handler, &own, true)
	posted := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if mayBeOrdinary(req) {
			short.ServeHTTP(w, req)
		} else {
			long.ServeHTTP(w, req)
		}
	}))
	if traced || config.ShutdownSendRetryAfter { // They are in the long chain only.
		posted = build(withReportBody(handler), &own)
	}
	return reports.Split(posted, build(handler, config), config.RequestInfoResolver)
}

// withReportBody reads the body of a report and refuses one that is too large, or that would keep the library busy for ever.
func withReportBody(handler http.Handler) http.Handler {
	return reports.WithBody(handler, Codecs, filters.BodyRules{
		Limit:   maxReportBytes,
		Refused: func() { report.Refused(report.ReasonTooLarge) },
		Check: func(mediaType string, body []byte, info *request.RequestInfo) error {
			err := filters.CheckAmounts(mediaType, body, binnacle.Kind("ClusterReport"), info.Name)
			if err != nil {
				report.Refused(report.ReasonInvalid)
			}
			return err
		},
	})
}

// buildReportChain is the library's DefaultBuildHandlerChain without what does nothing for a report: fairness, spans of traces that nobody
// collects, the time that each filter takes, and CORS; what a request is is known already. That is a good part of what a report costs. The
// library's handler leaves admission behind on another goroutine when the time of a request is up, which may then write warnings to an answer that is
// over: it needs the writer that timed keeps them from. The handler of ordinary reports does all on one goroutine, which ends with its context.
func buildReportChain(handler http.Handler, c *genericapiserver.Config, timed bool) http.Handler {
	handler = genericapifilters.WithAuthorization(handler, c.Authorization.Authorizer, c.Serializer)
	handler = genericfilters.WithMaxInFlightLimit(handler, c.MaxRequestsInFlight, c.MaxMutatingRequestsInFlight, c.LongRunningFunc)
	handler = withReportBody(handler)
	if c.FeatureGate.Enabled(genericfeatures.ConstrainedImpersonation) {
		handler = impersonation.WithConstrainedImpersonation(handler, c.Authorization.Authorizer, c.Serializer)
	} else {
		handler = impersonation.WithImpersonation(handler, c.Authorization.Authorizer, c.Serializer)
	}
	handler = genericapifilters.WithAudit(handler, c.AuditBackend, c.AuditPolicyRuleEvaluator, c.LongRunningFunc)
	failed := genericapifilters.WithFailedAuthenticationAudit(genericapifilters.Unauthorized(c.Serializer), c.AuditBackend, c.AuditPolicyRuleEvaluator)
	handler = genericapifilters.WithAuthentication(handler, c.Authentication.Authenticator, failed, c.Authentication.APIAudiences, c.Authentication.RequestHeaderConfig)
	handler = genericapifilters.WithWarningRecorder(handler)
	if timed {
		handler = genericfilters.WithTimeoutForNonLongRunningRequests(handler, c.LongRunningFunc)
	}
	handler = genericapifilters.WithRequestDeadline(handler, c.AuditBackend, c.AuditPolicyRuleEvaluator, c.LongRunningFunc, c.Serializer, c.RequestTimeout)
	handler = withReadDeadline(handler)
	handler = genericfilters.WithWaitGroup(handler, c.LongRunningFunc, c.NonLongRunningRequestWaitGroup)
	if c.SecureServing != nil && !c.SecureServing.DisableHTTP2 && c.GoawayChance > 0 {
		handler = genericfilters.WithProbabilisticGoaway(handler, c.GoawayChance)
	}
	handler = genericapifilters.WithCacheControl(handler)
	handler = genericfilters.WithHSTS(handler, c.HSTSDirectives)
	handler = genericfilters.WithHTTPLogging(handler)
	handler = genericapifilters.WithRequestReceivedTimestamp(handler)
	handler = genericfilters.WithPanicRecovery(handler, c.RequestInfoResolver)
	return genericapifilters.WithAuditInit(handler)
}

// withReadDeadline ends a request whose body takes too long: it holds one of the places that reports have.
func withReadDeadline(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(reportTimeout)); err != nil {
			klog.FromContext(req.Context()).V(2).Info("A report has no deadline for its body", "reason", err)
		}
		handler.ServeHTTP(w, req)
	})
}
