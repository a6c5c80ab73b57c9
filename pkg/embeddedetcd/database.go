package embeddedetcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// checkLog refuses a database whose log is gone. etcd would start an empty log beside it and count from the beginning, behind what the
// database has seen, and what is written then is lost.
func checkLog(database, logFolder string) error {
	if _, err := os.Stat(database); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if logs, err := filepath.Glob(filepath.Join(logFolder, "*.wal")); err == nil && len(logs) > 0 {
		return nil
	}
	return fmt.Errorf("the database %s is there, but there is no log in %s", database, logFolder)
}

// checkDatabase reads the whole database file once, as etcd will when it starts. etcd does so in goroutines whose panics nobody can
// catch, so that damage would end the process with their stacks; here it is an error. A file that is not there yet is sound.
func checkDatabase(path string) (err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the database %s is damaged: %v", path, r)
		}
	}()
	// The file is mapped into memory: where it is cut, reading is a fault, which ends the process unless it is a panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("the database %s is damaged: %w", path, err)
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, bucket *bolt.Bucket) error {
			return bucket.ForEach(func(_, _ []byte) error { return nil })
		})
	})
}
