// Package embeddedetcd runs one etcd member inside the process, for one-machine use. It listens on a unix socket that only the user of
// the process can reach.
package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/storage/datadir"
	"k8s.io/klog/v2"
)

// Server is a running member.
type Server struct {
	etcd *embed.Etcd
	lock *fileutil.LockedFile
	run  string
}

// startTimeout is how long a member may take to be ready: replaying a large log takes its time.
const startTimeout = 60 * time.Second

// ErrLocked says that another process has the data directory.
var ErrLocked = errors.New("another process is using it")

// MaxBytes is how large the database may become before it takes no more writes: etcd's default.
const MaxBytes int64 = 2 << 30

// Start runs etcd on the data in dir, which it makes where it is missing, and waits until it serves. A database that has reached
// MaxBytes is first compacted and made smaller. One process at a time may have dir. Every error names dir.
func Start(ctx context.Context, dir string) (*Server, error) { return startWith(ctx, dir, MaxBytes) }

func startWith(ctx context.Context, dir string, maxBytes int64) (*Server, error) {
	s := &Server{}
	if err := s.start(ctx, dir, maxBytes); err != nil {
		s.Stop()
		return nil, fmt.Errorf("embedded etcd in %s: %w", dir, err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, dir string, maxBytes int64) error {
	lock, err := lockFolder(dir)
	if err != nil {
		return err
	}
	s.lock = lock
	if s.run, err = socketFolder(dir); err != nil {
		return err
	}
	failed := make(chan error, 1)
	config, err := configuration(filepath.Join(dir, "data"), s.run, failed)
	if err != nil {
		return err
	}
	config.QuotaBackendBytes = maxBytes
	database := datadir.ToBackendFileName(config.Dir)
	if err := errors.Join(checkLog(database, datadir.ToWALDir(config.Dir)), checkDatabase(database)); err != nil {
		return explain(err)
	}
	if s.etcd, err = startEtcd(config); err != nil {
		return explain(err)
	}
	select {
	case <-s.etcd.Server.ReadyNotify():
		if full := outOfSpace(s.etcd.Server.Alarms()); len(full) > 0 {
			return makeRoom(ctx, s.Endpoint(), full)
		}
		return nil
	case err := <-s.etcd.Err():
		return explain(err)
	case err := <-failed:
		return explain(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startTimeout):
		return fmt.Errorf("not ready after %s", startTimeout)
	}
}

// lockFolder makes dir where it is missing, and keeps other processes from it.
func lockFolder(dir string) (*fileutil.LockedFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := fileutil.TryLockFile(filepath.Join(dir, "lock"), os.O_WRONLY|os.O_CREATE, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, ErrLocked
	}
	return lock, err
}

// maxSocketPath is how long the path of a unix socket may be (unix(7), sun_path less its final zero).
const maxSocketPath = 107

// socketFolder returns an empty folder for the sockets: in dir, where one left by a process that was killed is cleared, or in the
// system's folder for temporary files where the path would be too long.
func socketFolder(dir string) (string, error) {
	run, err := filepath.Abs(filepath.Join(dir, "run"))
	if err != nil {
		return "", err
	}
	if len(filepath.Join(run, clientSocket)) > maxSocketPath {
		return os.MkdirTemp("", "binnacle-etcd-")
	}
	if err := os.RemoveAll(run); err != nil {
		return "", err
	}
	return run, os.Mkdir(run, 0o700)
}

const clientSocket, peerSocket = "client.sock", "peer.sock"

func configuration(data, run string, failed chan<- error) (*embed.Config, error) {
	config := embed.NewConfig()
	config.Dir = data
	client := url.URL{Scheme: "unix", Path: filepath.Join(run, clientSocket)}
	peer := url.URL{Scheme: "unix", Path: filepath.Join(run, peerSocket)}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	// A member that is alone elects itself; waiting for others only delays the start.
	config.TickMs, config.ElectionMs = 10, 100
	// What is kept of the log in memory is for members that lag behind, of which there are none; its default is 5,000 writes, of any size.
	// How much of it is read back at a start is a matter of the count: its default is 10,000.
	config.SnapshotCatchUpEntries, config.SnapshotCount = 10, 1000
	// The watch cache answers consistent reads only as fresh as etcd's progress notifications are.
	config.WatchProgressNotifyInterval = time.Second
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger(failed))
	return config, config.Validate()
}

func startEtcd(config *embed.Config) (etcd *embed.Etcd, err error) {
	err = guarded(func() (err error) {
		etcd, err = embed.StartEtcd(config)
		return err
	})
	return etcd, err
}

// guarded turns the panics with which etcd meets data that it cannot read into errors.
func guarded(do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("etcd cannot read its data: %v", r)
		}
	}()
	return do()
}

// explain adds what to do.
func explain(err error) error {
	return fmt.Errorf("%w; if the disk is full, free some space; if the data is damaged, go back to a snapshot with binnacle-apiserver restore", err)
}

// Endpoint is where clients in this process reach the member.
func (s *Server) Endpoint() string { return s.etcd.Config().ListenClientUrls[0].String() }

// Stop ends the member after what it has accepted is on disk, and gives the data directory free. Stop what uses the member first.
func (s *Server) Stop() {
	if s.etcd != nil {
		s.etcd.Close()
	}
	if s.run != "" {
		if err := os.RemoveAll(s.run); err != nil {
			klog.ErrorS(err, "Cannot remove the sockets of the embedded etcd", "folder", s.run)
		}
	}
	if s.lock != nil {
		if err := s.lock.Close(); err != nil {
			klog.ErrorS(err, "Cannot unlock the data directory of the embedded etcd")
		}
	}
}
