package s3blobs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-rag/sluice/blobs/blobstest"
	"github.com/sluice-rag/sluice/blobs/s3blobs"
	"github.com/sluice-rag/sluice/blobs/s3blobs/s3test"
	"github.com/sluice-rag/sluice/internal/tools/require"
)

func connect(t *testing.T, url, file string) *s3blobs.Bucket {
	t.Helper()
	at, err := s3blobs.Parse(url)
	require.NoError(t, err)
	b, err := s3blobs.Connect(t.Context(), at, file)
	require.NoError(t, err)
	return b
}

func TestStore(t *testing.T) {
	s := s3test.New(t)
	blobstest.Exercise(t, connect(t, s.URL("a/b"), s3test.CredentialsFile(t)), 16<<20, func(t *testing.T, tenant, sum string) {
		path := filepath.Join(s.Folder, s.Bucket, "a", "b", tenant, sum)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		defer f.Close()
		if _, err := f.WriteAt([]byte("xxxx"), 10); err != nil {
			t.Fatal(err)
		}
	})
}

func TestAway(t *testing.T) {
	s := s3test.New(t)
	s3test.Credentials(t)
	blobstest.Away(t, connect(t, s.URL(""), ""), s.Stop, func() { s.Start(t) })
}

func TestNothingIsLeft(t *testing.T) {
	s := s3test.New(t)
	b := connect(t, s.URL("p"), s3test.CredentialsFile(t))
	one, err := b.Open(t.Context(), "one")
	require.NoError(t, err)
	blobstest.PutRemove(t, one)
	err = filepath.WalkDir(filepath.Join(s.Folder, s.Bucket), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			t.Errorf("a file is left: %s", path)
		}
		return err
	})
	require.NoError(t, err)
}

// TestConnectErrors checks that errors name what is wrong and show no secret.
func TestConnectErrors(t *testing.T) {
	s := s3test.New(t)
	wrong := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(wrong, []byte("[default]\naws_access_key_id = sluice-test\naws_secret_access_key = hunter2\n"), 0o600))
	missing := strings.Replace(s.URL("p"), "s3://test", "s3://other", 1)
	for name, c := range map[string]struct{ url, file, want string }{
		"secret": {s.URL("p"), wrong, "S3 refuses it"},
		"bucket": {missing, s3test.CredentialsFile(t), "does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			at, err := s3blobs.Parse(c.url)
			require.NoError(t, err)
			_, err = s3blobs.Connect(t.Context(), at, c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]s3blobs.Location{
		"s3://b":             {Bucket: "b", Endpoint: "s3.amazonaws.com"},
		"s3://b/p/q/":        {Bucket: "b", Prefix: "p/q", Endpoint: "s3.amazonaws.com"},
		"s3://b?region=eu-1": {Bucket: "b", Endpoint: "s3.amazonaws.com", Region: "eu-1"},
		"s3://b/p?endpoint=http://localhost:9000&region=r": {Bucket: "b", Prefix: "p", Endpoint: "localhost:9000", Insecure: true, Region: "r"},
		"s3://b/p?endpoint=https://s3.example.com/":        {Bucket: "b", Prefix: "p", Endpoint: "s3.example.com"},
	} {
		got, err := s3blobs.Parse(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for _, text := range []string{"s3:///p", "s3://key:hunter2@b/p", "http://b", "s3://b?endpoint=localhost:9000", "s3://b?secret=hunter2", "s3://b?endpoint=http://a:hunter2@h", "s3://%zzhunter2"} {
		if _, err := s3blobs.Parse(text); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
