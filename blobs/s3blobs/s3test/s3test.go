// Package s3test runs a server with the API of S3 for tests: the Versity S3 Gateway over a temporary folder.
package s3test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// The gateway is built once and stays in the user's cache folder. It is not a requirement of our module, which would get all of its modules.
const (
	gateway = "github.com/versity/versitygw/cmd/versitygw"
	version = "v1.8.0"
)

// The credentials of a [Server].
const (
	AccessKey = "sluice-test"
	SecretKey = "secret-of-the-test"
)

// Server is a server of its own in a temporary folder, with a bucket. The end of the test stops it.
type Server struct {
	Folder  string // of the objects
	Bucket  string
	program string
	address string
	process *exec.Cmd
}

var build struct {
	sync.Mutex
	program string
}

// Program returns the path of the gateway, which it builds if need be.
func program() (string, error) {
	build.Lock()
	defer build.Unlock()
	if build.program != "" {
		return build.program, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "sluice", "versitygw-"+version)
	path := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(path); err != nil {
		c := exec.Command("go", "install", gateway+"@"+version)
		c.Dir, c.Env = os.TempDir(), append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the S3 server: %w\n%s", err, out)
		}
	}
	build.program = path
	return path, nil
}

// New starts a server. Where it cannot be built, it skips the test, except in CI.
func New(t testing.TB) *Server {
	t.Helper()
	path, err := program()
	if err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Folder: t.TempDir(), Bucket: "test", program: path, address: l.Addr().String()}
	if err := errors.Join(l.Close(), os.Mkdir(filepath.Join(s.Folder, s.Bucket), 0o700)); err != nil {
		t.Fatal(err)
	}
	s.Start(t)
	t.Cleanup(s.Stop)
	return s
}

// Start starts a stopped server again, at the same address.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.process = exec.Command(s.program, "--access", AccessKey, "--secret", SecretKey, "--port", s.address, "--health", "/health", "--quiet", "posix", s.Folder)
	s.process.Stdout, s.process.Stderr = io.Discard, io.Discard
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	c, err := minio.New(s.address, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, ""), MaxRetries: 1})
	if err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; {
		ok, err := c.BucketExists(context.Background(), s.Bucket)
		if ok {
			return
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("the S3 server does not start: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// Stop stops the server. Its files remain.
func (s *Server) Stop() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// Address is the host and the port.
func (s *Server) Address() string { return s.address }

// URL is the URL of a prefix in the bucket.
func (s *Server) URL(prefix string) string {
	return "s3://" + s.Bucket + "/" + prefix + "?endpoint=" + url.QueryEscape("http://"+s.address) + "&region=us-east-1"
}

// Credentials sets the variables of the credentials.
func Credentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
}

// CredentialsFile writes a file with the credentials and returns its path.
func CredentialsFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(path, fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", AccessKey, SecretKey), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
