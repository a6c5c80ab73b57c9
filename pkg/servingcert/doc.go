// Package servingcert gives the replicas of a server one serving certificate that they make and renew themselves, and tells the hub
// whom to trust for it. It lives in a Secret; the hub learns the CA through the caBundle of exactly the APIServices that are named.
//
// A certificate is never used before the hub trusts its CA: a new CA goes into the bundle beside the old one, the bundle goes into the
// APIServices, and only then is a certificate signed by the new CA. So nothing fails while either is renewed.
//
// It may import apimachinery, apiserver's dynamiccertificates, client-go and kube-aggregator's client only.
package servingcert
