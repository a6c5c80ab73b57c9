// Package standalone gives a server without a hub its identity: a CA of its own, certificates, the administrator's kubeconfig, and who
// may do what (the administrator everything, everybody else nothing but ask whether the server is well).
package standalone
