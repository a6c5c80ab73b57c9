package integration

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// listeners are many watchers that remember only when they were told which number of which cluster. One whose watch ends begins anew.
type listeners struct {
	client *http.Client
	url    string

	mu sync.Mutex
	// told has, for each listener, when it was first told a number of a cluster.
	told  []map[string]time.Time
	opens []int
	wrong []string
	stop  func()
}

// startListeners opens n watches, and returns when all are open.
func startListeners(t *testing.T, config *rest.Config, namespace, query string, n int) *listeners {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	l := &listeners{
		client: client, url: config.Host + "/apis/binnacle.dev/v1alpha1/namespaces/" + namespace + "/clusterstatuses?watch=true" + query,
		told: make([]map[string]time.Time, n), opens: make([]int, n),
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range n {
		l.told[i] = map[string]time.Time{}
		wg.Go(func() {
			for ctx.Err() == nil {
				l.listen(ctx, i)
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	l.stop = func() {
		cancel()
		wg.Wait()
		client.CloseIdleConnections()
	}
	t.Cleanup(l.stop)
	within(t, 2*viewPatience, "all watches to be open", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, opens := range l.opens {
			if opens == 0 {
				return false
			}
		}
		return true
	})
	return l
}

func (l *listeners) listen(ctx context.Context, i int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return
	}
	l.mu.Lock()
	l.opens[i]++
	l.mu.Unlock()
	last := map[string]int{}
	for lines := bufio.NewReaderSize(resp.Body, 16<<10); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		name := between(line, `"metadata":{"name":"`)
		number, err := strconv.Atoi(between(line, `{"name":"number","value":"`))
		if err != nil {
			continue
		}
		l.mu.Lock()
		if was, known := last[name]; known && number < was {
			l.wrong = append(l.wrong, fmt.Sprintf("listener %d was told number %d of %s after %d", i, number, name, was))
		}
		last[name] = number
		if key := toldKey(name, number); l.told[i][key].IsZero() {
			l.told[i][key] = time.Now()
		}
		l.mu.Unlock()
	}
}

func toldKey(name string, number int) string { return fmt.Sprint(name, " ", number) }

// between returns what stands behind a mark, up to the next quotation mark.
func between(line []byte, mark string) string {
	_, rest, _ := bytes.Cut(line, []byte(mark))
	found, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(found)
}

// allTold waits until every listener was told a number of a cluster, and returns how long after since that was for each.
func (l *listeners) allTold(t *testing.T, name string, number int, since time.Time) (late []time.Duration) {
	t.Helper()
	within(t, viewPatience, "number "+toldKey(name, number)+" to be told to all", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		late = late[:0]
		for _, told := range l.told {
			at := told[toldKey(name, number)]
			for newer := number + 1; at.IsZero() && newer < number+20; newer++ {
				at = told[toldKey(name, newer)] // One that had to begin anew was told the newest only.
			}
			if at.IsZero() {
				return false
			}
			late = append(late, at.Sub(since))
		}
		return true
	})
	return late
}

// silentReader watches and reads nothing. It returns the connection.
func silentReader(t *testing.T, config *rest.Config, namespace string) *tls.Conn {
	t.Helper()
	secrets, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	secrets.NextProtos = []string{"http/1.1"}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	// What the system keeps for a reader that does not read is not what is tested.
	if err := plain.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	secrets.ServerName = address.Hostname()
	conn := tls.Client(plain, secrets)
	if _, err := fmt.Fprintf(conn, "GET /apis/binnacle.dev/v1alpha1/namespaces/%s/clusterstatuses?watch=true HTTP/1.1\r\nHost: %s\r\nAccept: application/json\r\nConnection: close\r\n\r\n", namespace, address.Host); err != nil {
		t.Fatal(err)
	}
	return conn
}

// bulky is a report of about 10 KB.
func bulky(number int) string {
	var properties strings.Builder
	fmt.Fprintf(&properties, `{"name":"number","value":"%d"}`, number)
	for i := range 10 {
		fmt.Fprintf(&properties, `,{"name":"p%d","value":"%s"}`, i, strings.Repeat("x", 1000))
	}
	return `"properties":[` + properties.String() + `]`
}
