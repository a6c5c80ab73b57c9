package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +k8s:supportsSubresource="/status"

// ClusterProfile is one cluster of an inventory: who manages it and, in its status, what is known of it and how to reach it
// (KEP-4322). All profiles of a namespace are one inventory.
type ClusterProfile struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. The label x-k8s.io/cluster-manager holds the name of the cluster manager.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says which cluster manager the profile belongs to, and how people call the cluster.
	// +required
	Spec ClusterProfileSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`

	// status is what the cluster manager observed. It is written through the status subresource only.
	// +optional
	Status ClusterProfileStatus `json:"status,omitempty,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ClusterProfileList is a list of ClusterProfile.
type ClusterProfileList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata: the resourceVersion of the list, and where a page ends.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the objects of the list.
	Items []ClusterProfile `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ClusterProfileSpec is what the owner of the profile says about the cluster.
type ClusterProfileSpec struct {
	// displayName is the name of the cluster for people. It may change, and need not be unique.
	// +optional
	// +k8s:optional
	DisplayName string `json:"displayName,omitempty" protobuf:"bytes,1,opt,name=displayName"`

	// clusterManager is the system that owns the profile. It is immutable.
	// +required
	// +k8s:customValidation
	ClusterManager ClusterManager `json:"clusterManager" protobuf:"bytes,2,opt,name=clusterManager"`
}

// ClusterManager names the system that owns the profile, such as a fleet manager. Two instances of one product use two names.
type ClusterManager struct {
	// name of the cluster manager. The label x-k8s.io/cluster-manager of the profile has the same value.
	// +required
	// +k8s:required
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
}

// ClusterProfileStatus is what the cluster manager observed of the cluster.
type ClusterProfileStatus struct {
	// conditions of the cluster, one of a type. ControlPlaneHealthy says whether its control plane works, Joined whether it is under
	// its manager.
	// +listType=map
	// +listMapKey=type
	// +optional
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=type
	// +k8s:maxItems=1000
	// +k8s:validation:maxItems=1000
	// +k8s:customValidation
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,1,rep,name=conditions"`

	// version is what the cluster runs.
	// +optional
	Version ClusterVersion `json:"version,omitempty,omitzero" protobuf:"bytes,2,opt,name=version"`

	// properties are facts about the cluster, one of a name: the ClusterProperty resources of the cluster (KEP-2149), and others that
	// its manager adds under names of its own.
	// +listType=map
	// +listMapKey=name
	// +optional
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=1000
	// +k8s:validation:maxItems=1000
	Properties []Property `json:"properties,omitempty" protobuf:"bytes,3,rep,name=properties"`

	// credentialProviders is the former name of accessProviders. Deprecated: use accessProviders. Where both name a provider, the one
	// in accessProviders counts.
	// +listType=map
	// +listMapKey=name
	// +optional
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=1000
	// +k8s:validation:maxItems=1000
	CredentialProviders []AccessProvider `json:"credentialProviders,omitempty" protobuf:"bytes,4,rep,name=credentialProviders"`

	// accessProviders are ways to connect to the cluster, one of a name. They hold no secrets: a consumer runs the plugin that it has
	// configured for a name.
	// +listType=map
	// +listMapKey=name
	// +optional
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:maxItems=1000
	// +k8s:validation:maxItems=1000
	AccessProviders []AccessProvider `json:"accessProviders,omitempty" protobuf:"bytes,5,rep,name=accessProviders"`
}

// ClusterVersion is what the cluster runs.
type ClusterVersion struct {
	// kubernetes is the Kubernetes version of the cluster, such as v1.37.2.
	// +optional
	// +k8s:optional
	Kubernetes string `json:"kubernetes,omitempty" protobuf:"bytes,1,opt,name=kubernetes"`
}

// Property is one named fact about the cluster.
type Property struct {
	// name of the property, 1 to 253 characters. For a ClusterProperty of the cluster it is the name of that object.
	// +required
	// +k8s:required
	// +k8s:maxLength=253
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=253
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`

	// value of the property, 1 to 1024 characters.
	// +required
	// +k8s:required
	// +k8s:maxLength=1024
	// +k8s:validation:minLength=1
	// +k8s:validation:maxLength=1024
	Value string `json:"value" protobuf:"bytes,2,opt,name=value"`

	// lastObservedTime is when the property was seen on the cluster, not when it was written here.
	// +optional
	// +k8s:optional
	// +k8s:customValidation
	LastObservedTime *Timestamp `json:"lastObservedTime,omitempty" protobuf:"bytes,3,opt,name=lastObservedTime,casttype=Timestamp"`
}

// Timestamp is an RFC 3339 date and time. It is kept as it was written, fractions of a second and offset included. The published schema
// gives it the format date-time (pkg/apiserver).
type Timestamp string

// AccessProvider is one way to connect to the cluster.
type AccessProvider struct {
	// name of the provider, as consumers have it in their configuration, such as google or kubeconfig.
	// +required
	// +k8s:required
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`

	// cluster tells where the API server of the cluster is, and how its certificate is verified.
	// +optional
	// +k8s:optional
	Cluster *Cluster `json:"cluster,omitempty" protobuf:"bytes,2,opt,name=cluster"`
}

// Cluster tells how to reach the API server of the cluster. Its keys are those of a kubeconfig file.
type Cluster struct {
	// server is the address of the API server, such as https://api.example.com:6443.
	// +required
	// +k8s:required
	Server *string `json:"server,omitempty" protobuf:"bytes,1,opt,name=server"`

	// tls-server-name is the name that the certificate of the server is checked against, where it is not the host of server.
	// +optional
	// +k8s:optional
	TLSServerName string `json:"tls-server-name,omitempty" protobuf:"bytes,2,opt,name=tlsServerName"`

	// insecure-skip-tls-verify switches the check of the certificate of the server off. Who can come between then reads and changes
	// everything.
	// +optional
	// +k8s:optional
	InsecureSkipTLSVerify bool `json:"insecure-skip-tls-verify,omitempty" protobuf:"varint,3,opt,name=insecureSkipTlsVerify"`

	// certificate-authority is a file of CA certificates. It means nothing outside the machine that has the file.
	// +optional
	// +k8s:optional
	CertificateAuthority string `json:"certificate-authority,omitempty" protobuf:"bytes,4,opt,name=certificateAuthority"`

	// certificate-authority-data is the PEM-encoded CA certificates that the certificate of the server is checked against.
	// +optional
	// +k8s:optional
	CertificateAuthorityData []byte `json:"certificate-authority-data,omitempty" protobuf:"bytes,5,opt,name=certificateAuthorityData"`

	// proxy-url is the proxy through which the server is reached; http, https and socks5 are the schemes that clients know.
	// +optional
	// +k8s:optional
	ProxyURL string `json:"proxy-url,omitempty" protobuf:"bytes,6,opt,name=proxyUrl"`

	// disable-compression asks clients not to compress what they exchange with the server.
	// +optional
	// +k8s:optional
	DisableCompression bool `json:"disable-compression,omitempty" protobuf:"varint,7,opt,name=disableCompression"`

	// extensions hold data for plugins, such as client.authentication.k8s.io/exec.
	// +listType=atomic
	// +optional
	// +k8s:optional
	// +k8s:listType=atomic
	Extensions []NamedExtension `json:"extensions,omitempty" protobuf:"bytes,8,rep,name=extensions"`
}

// NamedExtension is data for one plugin.
type NamedExtension struct {
	// name of the extension.
	// +required
	// +k8s:required
	Name *string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`

	// extension is any JSON object.
	// +required
	// +k8s:customValidation
	Extension runtime.RawExtension `json:"extension" protobuf:"bytes,2,opt,name=extension"`
}
