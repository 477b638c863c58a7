package v1alpha1

import corev1 "k8s.io/api/core/v1"

// Code is where the training code comes from: a git commit, or a path of a volume. Without it the code is that of the image.
type Code struct {
	// Path is where the code is seen in the Ray containers; they and the driver start in it.
	Path string `json:"path"`
	// Git is fetched by an init container of every Ray pod.
	Git *GitSource `json:"git,omitempty"`
	// PersistentVolumeClaim is a claim that holds the code.
	PersistentVolumeClaim *ClaimSource `json:"persistentVolumeClaim,omitempty"`
}

// GitSource is a commit of a git repository.
type GitSource struct {
	// URL of the repository: https://, ssh:// or git://.
	URL string `json:"url"`
	// Commit is the full hash; a branch would give pods that start later other code.
	Commit string `json:"commit"`
	// Image holds git and a shell; default the run's image.
	Image string `json:"image,omitempty"`
	// Token is the key of a Secret that holds an access token for an https URL.
	Token *corev1.SecretKeySelector `json:"token,omitempty"`
}

// ClaimSource is a folder of a PersistentVolumeClaim.
type ClaimSource struct {
	// ClaimName is the PersistentVolumeClaim, in the run's namespace.
	ClaimName string `json:"claimName"`
	// SubPath is the folder within the volume; default its root.
	SubPath string `json:"subPath,omitempty"`
}
