package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Snapshot writes a snapshot of the running member on dir, which may be another process's, in the form that Restore and etcdutl read.
func Snapshot(ctx context.Context, dir string, to io.Writer) error {
	if err := snapshot(ctx, dir, to); err != nil {
		return fmt.Errorf("snapshot of the embedded etcd in %s: %w", dir, err)
	}
	return nil
}

func snapshot(ctx context.Context, dir string, to io.Writer) (err error) {
	socket, err := filepath.Abs(filepath.Join(dir, "run", clientSocket))
	if err != nil {
		return err
	}
	if _, err := os.Stat(socket); err != nil {
		return fmt.Errorf("no server runs on it, or the path of the folder is so long that its socket is elsewhere: %w", err)
	}
	client, err := newClient(ctx, (&url.URL{Scheme: "unix", Path: socket}).String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	reader, err := client.Snapshot(ctx)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, reader)
	return errors.Join(err, reader.Close())
}

// SnapshotTo writes a snapshot into a file, which has its name only when it is complete.
func SnapshotTo(ctx context.Context, dir, file string) (err error) {
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".part-")
	if err != nil {
		return err
	}
	err = Snapshot(ctx, dir, part)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return syncFolder(filepath.Dir(file))
}

func newClient(ctx context.Context, endpoint string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{endpoint}, Logger: zap.NewNop()})
}
