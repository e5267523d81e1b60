// Command pki makes the certificates and keys of a local cluster.
//
// It reads a request as JSON from standard input and writes PEM files into a
// folder. It exists because the Python standard library cannot make
// certificates. What to issue is decided by the caller (certificates.py), so
// that a new user or server never needs a change, and a new build, here.
//
// The keys of the authorities are never written: nobody can issue further
// certificates for the cluster later.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Longer than any local cluster is kept, so that nothing has to renew.
const lifetime = 10 * 365 * 24 * time.Hour

// Tolerates clocks that were set back, as happens after suspending a machine.
const clockTolerance = time.Hour

type request struct {
	Folder       string        `json:"folder"`
	Authorities  []string      `json:"authorities"`
	Certificates []certificate `json:"certificates"`
	KeyPairs     []string      `json:"keyPairs"`
}

type certificate struct {
	File      string   `json:"file"`
	Authority string   `json:"authority"`
	Name      string   `json:"name"`
	Groups    []string `json:"groups"`
	// A certificate with hosts is a server's, one without is a client's.
	Hosts []string `json:"hosts"`
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pki:", err)
		os.Exit(1)
	}
}

func run() error {
	var wanted request
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wanted); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if err := os.MkdirAll(wanted.Folder, 0o700); err != nil {
		return err
	}
	authorities := map[string]authority{}
	for _, name := range wanted.Authorities {
		made, err := makeAuthority(wanted.Folder, name)
		if err != nil {
			return fmt.Errorf("authority %s: %w", name, err)
		}
		authorities[name] = made
	}
	for _, each := range wanted.Certificates {
		issuer, known := authorities[each.Authority]
		if !known {
			return fmt.Errorf("certificate %s: no authority %q", each.File, each.Authority)
		}
		if err := issue(wanted.Folder, issuer, each); err != nil {
			return fmt.Errorf("certificate %s: %w", each.File, err)
		}
	}
	for _, name := range wanted.KeyPairs {
		if err := makeKeyPair(wanted.Folder, name); err != nil {
			return fmt.Errorf("key pair %s: %w", name, err)
		}
	}
	return nil
}

func makeAuthority(folder, name string) (authority, error) {
	key, err := newKey()
	if err != nil {
		return authority{}, err
	}
	template, err := newTemplate(pkix.Name{CommonName: "local-cluster-" + name})
	if err != nil {
		return authority{}, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	encoded, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	parsed, err := x509.ParseCertificate(encoded)
	if err != nil {
		return authority{}, err
	}
	err = writePEM(folder, name+".crt", "CERTIFICATE", encoded)
	return authority{certificate: parsed, key: key}, err
}

func issue(folder string, issuer authority, wanted certificate) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template, err := newTemplate(pkix.Name{CommonName: wanted.Name, Organization: wanted.Groups})
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(wanted.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range wanted.Hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	encoded, err := x509.CreateCertificate(
		rand.Reader, template, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return err
	}
	if err := writePEM(folder, wanted.File+".crt", "CERTIFICATE", encoded); err != nil {
		return err
	}
	return writeKey(folder, wanted.File+".key", key)
}

func makeKeyPair(folder, name string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(folder, name+".pub", "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(folder, name+".key", key)
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func newTemplate(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-clockTolerance),
		NotAfter:     now.Add(lifetime),
	}, nil
}

func writeKey(folder, file string, key *ecdsa.PrivateKey) error {
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(folder, file, "EC PRIVATE KEY", encoded)
}

func writePEM(folder, file, kind string, content []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
	return os.WriteFile(filepath.Join(folder, file), text, 0o600)
}
