package clusterstatus

// EndWatch ends the watch of etcd as a lost connection does.
func (e *Engine) EndWatch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endWatch()
}

// AskForProgress asks etcd how far the watch is.
func (e *Engine) AskForProgress() { e.askForProgress() }
