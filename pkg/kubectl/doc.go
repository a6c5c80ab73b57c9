// Package kubectl is the kubectl plugin: the commands of kubectl binnacle. Each reads and writes through the API with the rights of who
// runs it, and keeps nothing.
//
// Of the project it may import pkg/apis, pkg/generated and pkg/version. It shares nothing with the server but the kinds and their client.
package kubectl
