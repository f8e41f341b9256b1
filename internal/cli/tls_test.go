//go:build linux

package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/blobs/s3blobs/s3test"
	"github.com/sluice-rag/sluice/doctor"
	"github.com/sluice-rag/sluice/index/weaviate/weaviatetest"
	"github.com/sluice-rag/sluice/internal/tools/program"
	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/natsconn/natstest"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// TestTLS connects to all engines over TLS, whose certificate only the file that SSL_CERT_FILE names can verify. Without the file, each connection is
// refused, and the message names the certificate.
func TestTLS(t *testing.T) {
	dir := docs(t)
	s3 := s3test.New(t)
	objects, pair := overTLS(t, s3.Address())
	search, _ := overTLS(t, strings.TrimPrefix(weaviatetest.URL(t), "weaviate://"))
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	authority, key := filepath.Join(t.TempDir(), "ca.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{authority: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private}} {
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	nats := natstest.Configured(t, fmt.Sprintf("tls: {cert_file: %q, key_file: %q}", authority, key))
	broker := strings.Replace(nats.URL(), "nats://", "tls://", 1)
	s3test.Credentials(t)
	for name, value := range map[string]string{
		"SLUICE_LOG":   broker,
		"SLUICE_STORE": postgrestest.TLS(t, pair) + "?sslmode=verify-full",
		"SLUICE_INDEX": strings.Replace(search, "https", "weaviates", 1),
		"SLUICE_BLOBS": "s3://" + s3.Bucket + "/files?region=us-east-1&endpoint=" + url.QueryEscape(objects),
	} {
		t.Setenv(name, value)
	}
	diagnosed := func() (found []doctor.Finding) {
		t.Helper()
		out, err := program.Command(t, "doctor", "--json", "--data", t.TempDir()).Output()
		if err := json.Unmarshal(out, &found); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
			t.Fatal(err)
		}
		return found
	}
	for _, f := range diagnosed() {
		if f.Part != "data" && (len(f.Problems) == 0 || !strings.Contains(f.Problems[0].Text, "certificate")) {
			t.Errorf("without the certificate: %+v", f)
		}
	}
	t.Setenv("SSL_CERT_FILE", authority)
	found := diagnosed()
	for _, f := range found {
		if f.Failed() {
			t.Errorf("%+v", f)
		}
	}
	if len(found) != 5 {
		t.Errorf("%d findings: %+v", len(found), found)
	}

	base, _ := child(t, "--docs="+dir, "--data="+t.TempDir())
	upload(t, base, "fees.md", "A ship pays 12 euros for each metre of its length.")
	if status, out, errs := run(t, "ask", "--server", base, "When was the north lock opened?"); status != 0 || !strings.Contains(out, "1932") {
		t.Errorf("ask: status %d\n%s\n%s", status, out, errs)
	}
}

// overTLS serves what is at an address over TLS, and returns the URL and the certificate.
func overTLS(t *testing.T, address string) (string, tls.Certificate) {
	t.Helper()
	s := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host // which signatures of S3 cover
	}})
	t.Cleanup(s.Close)
	return s.URL, s.TLS.Certificates[0]
}
