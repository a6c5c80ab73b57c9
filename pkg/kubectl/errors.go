package kubectl

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Exit codes. Scripts depend on them.
const (
	// ExitError is for all that went wrong, refusals of the server among it.
	ExitError = 1
	// ExitStopped says that what was waited for cannot come by itself: the rollout was stopped, aborted or rolled back.
	ExitStopped = 2
	// ExitTimeout says that what was waited for did not come in time.
	ExitTimeout = 3
)

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

// Unwrap returns the error.
func (e exitError) Unwrap() error { return e.error }

func exitCode(err error) int {
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	}
	return ExitError
}

// message says an error in the words of kubectl.
func message(err error) string {
	var status apierrors.APIStatus
	var failed *url.Error
	switch {
	case errors.As(err, &status):
		return statusMessage(status.Status())
	case errors.As(err, &failed) && utilnet.IsConnectionRefused(failed):
		host := failed.URL
		if server, err := url.Parse(failed.URL); err == nil {
			host = server.Host
		}
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	case errors.As(err, &failed):
		return fmt.Sprintf("Unable to connect to the server: %v", failed.Err)
	}
	return "error: " + strings.TrimPrefix(err.Error(), "error: ")
}

func statusMessage(status metav1.Status) string {
	switch {
	case status.Reason == metav1.StatusReasonInvalid && status.Details != nil && len(status.Details.Causes) > 0:
		lines := []string{fmt.Sprintf("The %s %q is invalid:", status.Details.Kind, status.Details.Name)}
		for _, cause := range status.Details.Causes {
			lines = append(lines, fmt.Sprintf("* %s: %s", cause.Field, cause.Message))
		}
		if len(lines) == 2 {
			return lines[0] + lines[1][1:]
		}
		return strings.Join(lines, "\n")
	case status.Reason == metav1.StatusReasonUnauthorized:
		return fmt.Sprintf("error: You must be logged in to the server (%s)", status.Message)
	case status.Reason != metav1.StatusReasonUnknown:
		return fmt.Sprintf("Error from server (%s): %s", status.Reason, status.Message)
	}
	return "Error from server: " + status.Message
}
