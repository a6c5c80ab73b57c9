// Package apiserver is the server: its scheme, which storage is installed under which group and version, how objects lie in etcd, and
// what it asks of its hub.
//
// It may import pkg/admission, pkg/registry, pkg/apis and generated code, never cmd.
package apiserver
