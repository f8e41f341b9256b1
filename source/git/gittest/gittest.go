// Package gittest runs Git servers for tests.
package gittest

import (
	"encoding/hex"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// Server is a server of one repository, with the program git http-backend. The repository has one commit and no documents.
type Server struct {
	*httptest.Server
	// Sent is how many bytes of bodies the server has sent.
	Sent atomic.Int64

	t        testing.TB
	dir      string
	worktree string
}

// Name is the path of the repository.
const Name = "/team/docs.git"

// New starts a server, which ends with the test. The handler of the repository is wrapped, unless wrap is nil.
func New(t testing.TB, wrap func(http.Handler) http.Handler) *Server {
	t.Helper()
	s := &Server{t: t, dir: t.TempDir(), worktree: t.TempDir()}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "team"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Git("init", "--quiet", "--initial-branch=main", "--separate-git-dir="+filepath.Join(s.dir, filepath.FromSlash(Name)))
	s.Git("config", "uploadpack.allowFilter", "false")
	s.Git("commit", "--quiet", "--allow-empty", "--message=begin")
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: s.dir, Env: append(s.env(), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1")}
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { backend.ServeHTTP(&counter{w, &s.Sent}, r) })
	if wrap != nil {
		handler = wrap(handler)
	}
	s.Server = httptest.NewUnstartedServer(handler)
	t.Cleanup(func() { s.Close() })
	return s
}

// Started starts the server without TLS and returns it.
func (s *Server) Started() *Server {
	s.Start()
	return s
}

type counter struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

func (s *Server) env() []string {
	return []string{"HOME=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org", "PATH=" + os.Getenv("PATH")}
}

// Git runs git in the work tree of the repository and returns its output.
func (s *Server) Git(args ...string) string { return s.GitInput("", args...) }

// GitInput is Git with an input.
func (s *Server) GitInput(input string, args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.worktree, s.env(), strings.NewReader(input)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("git %v: %v: %s", args, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// Put commits a file.
func (s *Server) Put(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.worktree, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Commit()
}

// Remove commits the removal of a file.
func (s *Server) Remove(name string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.worktree, filepath.FromSlash(name))); err != nil {
		s.t.Fatal(err)
	}
	s.Commit()
}

// Worktree is the folder of the work tree.
func (s *Server) Worktree() string { return s.worktree }

// Commit commits all changes of the work tree, on top of the current branch.
func (s *Server) Commit() {
	s.t.Helper()
	s.Git("add", "--all")
	s.Git("commit", "--quiet", "--allow-empty", "--message=change")
}

// Tree stores a tree of raw entries, which git does not check, and returns its hash. An entry is MODE SP NAME, and its object.
func (s *Server) Tree(entries ...[2]string) string {
	s.t.Helper()
	var raw strings.Builder
	for _, e := range entries {
		hash, err := hex.DecodeString(e[1])
		if err != nil {
			s.t.Fatal(err)
		}
		raw.WriteString(e[0] + "\x00" + string(hash))
	}
	return s.GitInput(raw.String(), "hash-object", "-t", "tree", "--literally", "-w", "--stdin")
}

// CommitTree makes a tree the content of the branch main.
func (s *Server) CommitTree(tree string) {
	s.t.Helper()
	s.Git("update-ref", "refs/heads/main", s.Git("commit-tree", "-m", "tree", tree))
}
