package clusterstatus

// EndWatch ends the watch of etcd as a lost connection does.
func (e *Engine) EndWatch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endWatch()
}
