package apiserver

import (
	"context"
	"net/http"
	"path"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	pagesv1 "github.com/binnacle-dev/binnacle/pkg/apis/pages/v1"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus"
	"github.com/binnacle-dev/binnacle/pkg/clusterstatus/viewlog"
	"github.com/binnacle-dev/binnacle/pkg/report"
)

// ClusterStatusConfig says how the view of the clusters is kept, and how reports are taken.
type ClusterStatusConfig struct {
	// Etcd is where the storage is.
	Etcd storagebackend.TransportConfig
	// Prefix is under which all our keys lie in it.
	Prefix string
	// Parameters are what the view is derived by.
	Parameters pagesv1.Parameters
	// Reports are how many reports this replica takes.
	Reports report.Limits
	// PublishInterval is how often this replica writes what arrived to etcd.
	PublishInterval time.Duration
	// ReporterTTL is how long the hub's answers about reporters are kept.
	ReporterTTL time.Duration
	// History is how much of the view's past is kept for watchers.
	History viewlog.Limits
}

// keys is what all our keys in etcd begin with.
func (c ClusterStatusConfig) keys() string { return path.Join("/", c.Prefix) + "/" }

// clusterStatus is the view with all that keeps it.
type clusterStatus struct {
	engine    *clusterstatus.Engine
	table     *report.Table
	publisher *report.Publisher
}

// newClusterStatus puts the parts together. Nothing runs before the hook of the server that they are added to.
func newClusterStatus(c ClusterStatusConfig, server *genericapiserver.GenericAPIServer, generic *genericapiserver.Config) (*clusterStatus, error) {
	client, err := newEtcdClient(c.Etcd)
	if err != nil {
		return nil, err
	}
	server.RegisterDestroyFunc(func() { _ = client.Close() })
	wall := clock.RealClock{}
	viewClock := report.NewClock(wall)
	engine, err := clusterstatus.New(clusterstatus.Config{
		Client: client, Storage: generic.RESTOptionsGetter, Parameters: c.Parameters, Clock: viewClock, Log: viewlog.New(c.History),
	}, c.keys())
	if err != nil {
		return nil, err
	}
	table := report.NewTable(c.Reports, viewClock)
	report.RegisterMetrics(table)
	clusterstatus.RegisterMetrics(engine)
	return &clusterStatus{engine, table, &report.Publisher{
		Client: client, Prefix: engine.PagesPrefix(), Transformer: engine.Transformer(),
		Table: table, View: engine, Clock: viewClock, Interval: c.PublishInterval, Wall: wall,
	}}, nil
}

// lastPublication is how long the shutdown waits for what arrived to be written.
const lastPublication = 3 * time.Second

// addTo makes the server keep the view while it runs, and be ready once it is loaded.
func (s *clusterStatus) addTo(server *genericapiserver.GenericAPIServer) error {
	const name = "cluster-status-view"
	if err := server.AddReadyzChecks(healthz.NamedCheck(name, func(*http.Request) error {
		// After the first load, a view that cannot be served is told to those who ask for it; the other kinds are still served.
		if s.engine.Started() {
			return nil
		}
		return s.engine.Check()
	})); err != nil {
		return err
	}
	if err := server.AddPostStartHook(name, func(ctx genericapiserver.PostStartHookContext) error {
		go s.engine.Run(ctx)
		go s.publisher.Run(ctx)
		return nil
	}); err != nil {
		return err
	}
	return server.AddPreShutdownHook(name, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), lastPublication)
		defer cancel()
		if err := s.publisher.Publish(ctx); err != nil {
			klog.ErrorS(err, "The last reports were not published; their clusters report again")
		}
		return nil
	})
}
