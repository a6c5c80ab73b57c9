package embeddedetcd

import (
	"errors"
	"fmt"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger returns a logger for etcd that says nothing: what it calls fatal becomes a panic with the reason in words, or, where a
// panic cannot be caught, an error on failed as well; instead of an exit, a stack and the reason in a structured line.
func newLogger(failed chan<- error) *zap.Logger {
	return zap.New(&fatalCore{failed: failed}, zap.WithFatalHook(zapcore.WriteThenPanic))
}

// fatalCore keeps what etcd says before it gives up.
type fatalCore struct {
	fields []zapcore.Field
	failed chan<- error
}

// Enabled is for panics and fatal errors only.
func (c *fatalCore) Enabled(level zapcore.Level) bool { return level >= zapcore.PanicLevel }

// With returns a core that knows more fields.
func (c *fatalCore) With(fields []zapcore.Field) zapcore.Core {
	return &fatalCore{fields: append(append([]zapcore.Field{}, c.fields...), fields...), failed: c.failed}
}

// Check has Write called for what is enabled.
func (c *fatalCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

// Write panics with the message and its reason, before zap does so with the message alone.
func (c *fatalCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	err := errors.New(entry.Message)
	for _, field := range append(c.fields, fields...) {
		if cause, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
		}
	}
	select {
	case c.failed <- err:
	default:
	}
	panic(err)
}

// Sync does nothing.
func (c *fatalCore) Sync() error { return nil }
