package embeddedetcd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	etcdutl "go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
)

// RevisionBump is how far beyond the snapshot a restored member counts on. It has to be more than what was written since: a version that
// some client has seen must never be given again, for something else.
const RevisionBump = 1_000_000_000

// Restore makes the data in dir what a snapshot holds, while no server runs on it. The revisions up to RevisionBump beyond the snapshot
// count as compacted, so that clients that have seen later ones list anew. The data that was there is kept in the folder that is
// returned, if there was any. Whatever fails leaves it in its place.
func Restore(dir string, from io.Reader, now time.Time) (old string, err error) {
	if old, err = restore(dir, from, now); err != nil {
		return "", fmt.Errorf("restore the embedded etcd in %s: %w", dir, err)
	}
	return old, nil
}

func restore(dir string, from io.Reader, now time.Time) (old string, err error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	// On the same file system, so that it can be renamed; and the one place that a pod with a read-only root can write.
	work, err := os.MkdirTemp(dir, "restore-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	file, restored := filepath.Join(work, "snapshot.db"), filepath.Join(work, "data")
	if err := save(file, from); err != nil {
		return "", err
	}
	if err := guarded(func() error { return unpack(file, restored) }); err != nil {
		return "", fmt.Errorf("it is no complete snapshot, or the disk is full: %w", err)
	}
	return exchange(filepath.Join(dir, "data"), restored, now)
}

func save(file string, from io.Reader) error {
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// unpack is what etcdutl snapshot restore does with its defaults. The snapshot ends with its checksum, which is verified. The peer URL is
// never used: a member that is alone has no peers, and one that has data does not compare it.
func unpack(file, to string) error {
	config := embed.NewConfig()
	return etcdutl.NewV3(newLogger(nil)).Restore(etcdutl.RestoreConfig{
		SnapshotPath:        file,
		OutputDataDir:       to,
		Name:                config.Name,
		PeerURLs:            []string{embed.DefaultInitialAdvertisePeerURLs},
		InitialCluster:      config.InitialClusterFromName(config.Name),
		InitialClusterToken: config.InitialClusterToken,
		RevisionBump:        RevisionBump,
		MarkCompacted:       true,
	})
}

// exchange puts restored in the place of data, and says where that is now.
func exchange(data, restored string, now time.Time) (old string, err error) {
	if _, err := os.Stat(data); err == nil {
		old = data + ".old-" + now.UTC().Format("20060102T150405Z")
		if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is there already", old)
		}
		if err := os.Rename(data, old); err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Rename(restored, data); err != nil {
		if old != "" {
			err = errors.Join(err, os.Rename(old, data))
		}
		return "", err
	}
	return old, syncFolder(filepath.Dir(data))
}

// syncFolder brings what was renamed in a folder to the disk.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(fileutil.Fsync(folder), folder.Close())
}
