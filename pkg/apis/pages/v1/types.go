package v1

import (
	"github.com/binnacle-dev/binnacle/pkg/apis/binnacle/v1alpha1"
)

// Head is what a publication compares and swaps, so that all publications of all replicas are one sequence.
type Head struct {
	// Epoch counts the changes of what the view is derived by: Derivation and Parameters.
	Epoch int64 `json:"epoch" protobuf:"varint,1,opt,name=epoch"`
	// Derivation is the version of the derive function.
	Derivation int32 `json:"derivation" protobuf:"varint,2,opt,name=derivation"`
	// Parameters are what the view is derived by.
	Parameters Parameters `json:"parameters" protobuf:"bytes,3,opt,name=parameters"`
	// Sequence counts publications.
	Sequence int64 `json:"sequence" protobuf:"varint,4,opt,name=sequence"`
	// Stamp is the time of the publication: the now of the view.
	Stamp int64 `json:"stamp" protobuf:"varint,5,opt,name=stamp"`
	// GraceFrom is when replicas began to receive reports again after a time in which none could. No silence counts from before it.
	GraceFrom int64 `json:"graceFrom" protobuf:"varint,6,opt,name=graceFrom"`
	// SuspectFrom is 0, or while a mass of clusters is silent the time from which on a cluster that went silent belongs to it.
	SuspectFrom int64 `json:"suspectFrom" protobuf:"varint,7,opt,name=suspectFrom"`
}

// Parameters are what the view is derived by. All replicas use those in the Head.
type Parameters struct {
	// GraceSeconds is the shortest grace period.
	GraceSeconds int64 `json:"graceSeconds" protobuf:"varint,1,opt,name=graceSeconds"`
	// GraceIntervals is how many report intervals the grace period lasts, if that is longer.
	GraceIntervals int64 `json:"graceIntervals" protobuf:"varint,2,opt,name=graceIntervals"`
	// GrainSeconds is to what lastReportTime is cut down.
	GrainSeconds int64 `json:"grainSeconds" protobuf:"varint,3,opt,name=grainSeconds"`
	// SuspectPercent is the share of clusters above which silence is suspect.
	SuspectPercent int64 `json:"suspectPercent" protobuf:"varint,4,opt,name=suspectPercent"`
}

// FactsPage holds the facts of clusters that changed. Of two records of one cluster the one in the page with the higher sequence
// counts; of two clusters with one slot likewise.
type FactsPage struct {
	Records []Facts `json:"records" protobuf:"bytes,1,rep,name=records"`
}

// Facts are what a cluster reported, without the times that each report changes.
type Facts struct {
	// UID is the uid of the ClusterProfile.
	UID string `json:"uid" protobuf:"bytes,1,opt,name=uid"`
	// Slot is the place of the cluster in the seen pages.
	Slot int32 `json:"slot" protobuf:"varint,2,opt,name=slot"`
	// Report is what the cluster said last, less its uid and time.
	Report v1alpha1.ClusterReportSpec `json:"report" protobuf:"bytes,3,opt,name=report"`
	// ClockSkewSeconds is by how much the clock of the cluster was ahead.
	ClockSkewSeconds int64 `json:"clockSkewSeconds" protobuf:"varint,4,opt,name=clockSkewSeconds"`
	// Conditions are the report's conditions as they count: a change counts once two reports in a row say so.
	Conditions []Condition `json:"conditions" protobuf:"bytes,5,rep,name=conditions"`
	// PropertyTimes are since when the report's properties have their values, in the same order.
	PropertyTimes []int64 `json:"propertyTimes" protobuf:"varint,6,rep,name=propertyTimes"`
}

// Condition is a condition as it counts.
type Condition struct {
	Type    string `json:"type" protobuf:"bytes,1,opt,name=type"`
	Status  string `json:"status" protobuf:"bytes,2,opt,name=status"`
	Reason  string `json:"reason" protobuf:"bytes,3,opt,name=reason"`
	Message string `json:"message" protobuf:"bytes,4,opt,name=message"`
	// Since is when the condition took its status.
	Since int64 `json:"since" protobuf:"varint,5,opt,name=since"`
	// PendingSince is 0, or when a report first said another status that no second report has confirmed yet.
	PendingSince int64 `json:"pendingSince" protobuf:"varint,6,opt,name=pendingSince"`
	// PendingStatus is that other status.
	PendingStatus string `json:"pendingStatus" protobuf:"bytes,7,opt,name=pendingStatus"`
}

// SeenPage says when clusters were heard of, by slot. Each field is a column of signed varints, one for each slot from the first of the
// page, zeros at the end left out.
type SeenPage struct {
	// LastSeen is when the last report arrived, as milliseconds before Base; 0 where the slot is free.
	LastSeen []byte `json:"lastSeen" protobuf:"bytes,1,opt,name=lastSeen"`
	// Interval is after how many seconds the cluster was asked to report again.
	Interval []byte `json:"interval" protobuf:"bytes,2,opt,name=interval"`
	// Changed is since when the cluster is reachable, as seconds before Base, or as negative seconds, since when it is silent.
	Changed []byte `json:"changed" protobuf:"bytes,3,opt,name=changed"`
	// Base is what LastSeen and Changed count from.
	Base int64 `json:"base" protobuf:"varint,4,opt,name=base"`
}
