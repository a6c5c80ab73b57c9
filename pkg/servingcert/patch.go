package servingcert

import "encoding/json"

// caBundlePatch sets the caBundle of an APIService that is still at a resourceVersion, and nothing else.
func caBundlePatch(resourceVersion string, bundle []byte) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": resourceVersion},
		"spec":     map[string]any{"caBundle": bundle, "insecureSkipTLSVerify": false},
	})
}
