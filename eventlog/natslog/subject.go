package natslog

import (
	"strings"

	"github.com/sluice-rag/sluice/event"
)

// The id of a run is cut into three tokens of its subject, so that runs can be listed in order without a list of all of them. The ids of the
// engine begin with the time: their first token changes every 12 days, the second every 17 minutes.
const (
	cut1 = 8
	cut2 = 10
	none = "=" // a token that is empty; not a character of an id
)

// tokens returns the three tokens of an id.
func tokens(id event.RunID) [3]string {
	s := string(id)
	a, b := min(len(s), cut1), min(len(s), cut2)
	t := [3]string{s[:a], s[a:b], s[b:]}
	for i := range t {
		if t[i] == "" {
			t[i] = none
		}
	}
	return t
}

// runID is the inverse of tokens, for the last tokens of a subject.
func runID(subject string) event.RunID {
	t := strings.Split(subject, ".")
	if len(t) < 3 {
		return ""
	}
	id := event.RunID(strings.ReplaceAll(strings.Join(t[len(t)-3:], ""), none, ""))
	if !id.Valid() {
		return ""
	}
	return id
}

// names are the streams and subjects of one tenant.
type names struct {
	runs, index string // streams
	base        string // of the subjects of runs
	mark        string // of the subjects of the index
	deleted     string // subject at which servers announce deletions
	claimed     string // subject at which servers announce that they have claimed a run
}

func newNames(prefix, tenant string) names {
	stream := strings.ToUpper(prefix) + "-" + tenant
	return names{
		runs: stream + "-RUNS", index: stream + "-INDEX",
		base: prefix + ".runs." + tenant + ".", mark: prefix + ".index." + tenant + ".", deleted: prefix + ".deleted." + tenant, claimed: prefix + ".claimed." + tenant,
	}
}

// run is the subject of a run.
func (n names) run(id event.RunID) string {
	t := tokens(id)
	return n.base + t[0] + "." + t[1] + "." + t[2]
}

// owned is the subject of the mark of a run that a server has begun or claimed.
func (n names) owned(server string, id event.RunID) string {
	t := tokens(id)
	return n.mark + "own." + server + "." + t[0] + "." + t[1] + "." + t[2]
}

// reserved is the subject of the reservation of a key: see [Log.Reserve].
func (n names) reserved(key string) string { return n.mark + "ask." + key }

// key is the subject of the key of a run.
func (n names) key(id event.RunID) string {
	t := tokens(id)
	return n.mark + "key." + t[0] + "." + t[1] + "." + t[2]
}

// deleting is the subject of the mark of a run that is being deleted.
func (n names) deleting(id event.RunID) string {
	t := tokens(id)
	return n.mark + "delete." + t[0] + "." + t[1] + "." + t[2]
}
