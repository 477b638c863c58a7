package local

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority is the one CA of an instance; it signs for servers and clients alike.
type authority struct {
	key  crypto.Signer
	cert *x509.Certificate
}

const validFor = 365 * 24 * time.Hour

// identity is a certificate to sign.
type identity struct {
	file   string // name below pki/, without .crt and .key
	user   string
	groups []string
	names  []string // DNS names and IP addresses of a server; a client has none
}

// identities are all that the parts of the cluster need to know each other.
func identities() []identity {
	admins := []string{"system:masters"}
	return []identity{
		{file: "apiserver", user: "kube-apiserver", names: []string{
			"127.0.0.1", "localhost", nodeAddress, serviceAPI, nodeName, "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		}},
		{file: "kubelet-server", user: nodeName, names: []string{nodeName, nodeAddress}},
		{file: "webhook", user: "webhook", names: []string{nodeAddress}},
		{file: "apiserver-kubelet-client", user: "kube-apiserver", groups: admins},
		{file: "admin", user: "admin", groups: admins},
		{file: "addons", user: "addons", groups: admins},
		{file: "kube-controller-manager", user: "system:kube-controller-manager"},
		{file: "kube-scheduler", user: "system:kube-scheduler"},
		{file: "kube-proxy", user: "system:kube-proxy"},
		{file: "kubelet", user: "system:node:" + nodeName, groups: []string{"system:nodes"}},
	}
}

// writePKI writes the CA, a certificate and key for each identity, and the key that signs ServiceAccount tokens.
func writePKI(c Config) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	cert, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "tandem-local-" + c.Name}, key)
	if err != nil {
		return err
	}
	ca := authority{key: key, cert: cert}
	if err := writePair(c, "ca", key, cert.Raw); err != nil {
		return err
	}
	for _, id := range identities() {
		if err := ca.issue(c, id); err != nil {
			return fmt.Errorf("certificate %s: %w", id.file, err)
		}
	}
	signer, err := newKey()
	if err != nil {
		return err
	}
	return writeKey(c.pki("service-accounts.key"), signer)
}

func (ca authority) issue(c Config, id identity) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: id.user, Organization: id.groups},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(validFor),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, name := range id.names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
			continue
		}
		template.DNSNames = append(template.DNSNames, name)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca.cert, key.Public(), ca.key)
	if err != nil {
		return err
	}
	return writePair(c, id.file, key, raw)
}

func newKey() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func writePair(c Config, name string, key crypto.PrivateKey, raw []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: raw})
	if err := os.WriteFile(c.pki(name+".crt"), data, 0o644); err != nil {
		return err
	}
	return writeKey(c.pki(name+".key"), key)
}

func writeKey(file string, key crypto.PrivateKey) error {
	data, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// writeKubeconfigs writes one for each client inside the instance, and the administrator's for the host.
func writeKubeconfigs(c Config) error {
	inside := "https://" + nodeAddress + ":6443"
	for _, user := range []string{"addons", "kube-controller-manager", "kube-scheduler", "kube-proxy", "kubelet"} {
		if err := writeKubeconfig(c, c.kubeconfig(user), inside, user); err != nil {
			return err
		}
	}
	return writeKubeconfig(c, c.Kubeconfig(), fmt.Sprintf("https://127.0.0.1:%d", c.APIPort), "admin")
}

// writeKubeconfig embeds the certificates, so that the file can be copied.
func writeKubeconfig(c Config, file, server, user string) error {
	name := "tandem-local-" + c.Name
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: c.pki("ca.crt")}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificate: c.pki(user + ".crt"), ClientKey: c.pki(user + ".key"),
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user, Namespace: "default"}
	config.CurrentContext = name
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*config, file)
}
