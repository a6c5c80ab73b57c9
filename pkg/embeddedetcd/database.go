package embeddedetcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

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
