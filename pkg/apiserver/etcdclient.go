package apiserver

import (
	"context"
	"net"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

const (
	etcdDialTimeout = 20 * time.Second
	etcdKeepAlive   = 30 * time.Second
	// etcdLongestBackoff keeps the watch of the view from staying away for long after etcd is back; gRPC's own limit is 2 minutes.
	etcdLongestBackoff = 3 * time.Second
)

// newEtcdClient returns a client of the etcd that the storage is in: the library shows its own to nobody. Certificates are read from
// their files for each connection. It does not wait for etcd to answer.
func newEtcdClient(c storagebackend.TransportConfig) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: c.ServerList, DialTimeout: etcdDialTimeout, DialKeepAliveTime: etcdKeepAlive, DialKeepAliveTimeout: etcdKeepAlive / 3,
		// Errors are returned, and said by whoever gets them.
		Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: etcdLongestBackoff},
			MinConnectTimeout: etcdDialTimeout,
		})},
	}
	if c.CertFile != "" || c.KeyFile != "" || c.TrustedCAFile != "" {
		info := transport.TLSInfo{CertFile: c.CertFile, KeyFile: c.KeyFile, TrustedCAFile: c.TrustedCAFile}
		var err error
		if config.TLS, err = info.ClientConfig(); err != nil {
			return nil, err
		}
	}
	if c.EgressLookup != nil {
		dial, err := c.EgressLookup(egressselector.Etcd.AsNetworkContext())
		if err != nil {
			return nil, err
		}
		if dial != nil {
			config.DialOptions = append(config.DialOptions, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				if strings.Contains(address, "//") {
					parsed, err := url.Parse(address)
					if err != nil {
						return nil, err
					}
					address = parsed.Host
				}
				return dial(ctx, "tcp", address)
			}))
		}
	}
	return clientv3.New(config)
}
