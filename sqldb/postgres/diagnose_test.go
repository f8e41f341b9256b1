//go:build linux

package postgres_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/sluice-rag/sluice/internal/tools/require"
	"github.com/sluice-rag/sluice/sqldb/postgres"
	"github.com/sluice-rag/sluice/sqldb/postgres/postgrestest"
)

// with returns a URL with another user and further parameters.
func with(t *testing.T, address, user, parameters string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.User = url.UserPassword(user, "hunter2")
	if parameters != "" {
		u.RawQuery += "&" + parameters
	}
	return u.String()
}

func TestDiagnose(t *testing.T) {
	t.Parallel()
	server := postgrestest.New(t)
	own, strange, empty := server.URL(t), server.URL(t), server.URL(t)
	part(t, postgrestest.Open(t, own), "sluice")
	part(t, postgrestest.Open(t, own), "sluice_default")
	postgrestest.Exec(t, own, `CREATE ROLE locked NOLOGIN; CREATE ROLE guest LOGIN; CREATE ROLE half LOGIN; CREATE ROLE member LOGIN IN ROLE postgres;
		CREATE SCHEMA old; CREATE FUNCTION old.current_setting(text) RETURNS text LANGUAGE sql IMMUTABLE AS
			$$ SELECT CASE $1 WHEN 'server_version' THEN '13.1' WHEN 'server_version_num' THEN '130001' ELSE pg_catalog.current_setting($1) END $$;
		GRANT USAGE ON SCHEMA old TO public; REVOKE ALL ON DATABASE `+name(strange)+` FROM public`)
	postgrestest.Exec(t, own, `CREATE ROLE narrow LOGIN; GRANT USAGE, CREATE ON SCHEMA sluice, sluice_default TO narrow; GRANT ALL ON ALL TABLES IN SCHEMA sluice, sluice_default TO narrow`)
	down := postgrestest.New(t)
	downURL := down.URL(t)
	down.Stop()
	postgrestest.Exec(t, own, "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
	for what, c := range map[string]struct {
		url  string
		want []string // one in each problem
	}{
		"works":         {url: with(t, own, "postgres", "")},
		"empty":         {url: with(t, empty, "postgres", "")},
		"down":          {url: with(t, downURL, "postgres", ""), want: []string{"cannot be reached"}},
		"refused":       {url: "postgres://me:hunter2@127.0.0.1:1/name", want: []string{"nothing listens at the address | start the server, or check the address in --store"}},
		"unknown host":  {url: "postgres://me:hunter2@no-such-host.invalid/name", want: []string{"the host no-such-host.invalid is not known"}},
		"not a URL":     {url: "postgres://me:hunter2@[/name", want: []string{"want a URL such as"}},
		"no user":       {url: with(t, own, "nobody", ""), want: []string{"refuses the user or the password"}},
		"no login":      {url: with(t, own, "locked", ""), want: []string{"refuses the user or the password"}},
		"no database":   {url: strings.Replace(with(t, own, "postgres", ""), name(own), "none", 1), want: []string{"the database does not exist"}},
		"may not enter": {url: with(t, strange, "guest", ""), want: []string{"may not connect to the database"}},
		"too old":       {url: with(t, own, "postgres", "search_path=old,pg_catalog"), want: []string{"PostgreSQL 13.1 at"}},
		"encoding":      {url: strings.Replace(with(t, own, "postgres", ""), name(own), "ascii", 1), want: []string{"has the encoding SQL_ASCII"}},
		"read-only":     {url: with(t, own, "postgres", "default_transaction_read_only=on"), want: []string{"only permits reads"}},
		"no rights":     {url: with(t, own, "guest", ""), want: []string{"lacks rights to sluice, sluice.items", "may not create schemas"}},
		"not the owner": {url: with(t, own, "narrow", ""), want: []string{"lacks rights to sluice.items", "may not create schemas"}},
		"empty, guest":  {url: with(t, empty, "guest", ""), want: []string{"may not create schemas in the database"}},
	} {
		t.Run(what, func(t *testing.T) {
			f := postgres.Diagnose(t.Context(), c.url, "--store", "sluice", "sluice_")
			text, err := json.Marshal(f)
			if err != nil || strings.Contains(string(text), "hunter2") || len(f.Problems) != len(c.want) {
				t.Fatalf("%s, %v", text, err)
			}
			for i, want := range c.want {
				if got := f.Problems[i].Text + " | " + f.Problems[i].Fix; !strings.Contains(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
			if len(c.want) == 0 && (f.Failed() || f.RoundTrip <= 0 || f.Skew == nil || f.Version == "" || !strings.HasSuffix(f.Address, "/"+name(c.url)) || len(f.Details) != 2) {
				t.Errorf("%s", text)
			}
		})
	}
	// Nothing is left.
	names, err := postgrestest.Open(t, own).Schemas(t.Context(), "sluice_d")
	if err != nil || fmt.Sprint(names) != "[sluice_default]" {
		t.Errorf("%v, %v", names, err)
	}
	// A user that owns all schemas, but may not create more, is good enough for a server without further tenants.
	postgrestest.Exec(t, own, `GRANT postgres TO narrow; REVOKE postgres FROM narrow; ALTER SCHEMA sluice OWNER TO narrow; ALTER SCHEMA sluice_default OWNER TO narrow;
		ALTER TABLE sluice.items OWNER TO narrow; ALTER TABLE sluice.others OWNER TO narrow; ALTER TABLE sluice.versions OWNER TO narrow;
		ALTER TABLE sluice_default.items OWNER TO narrow; ALTER TABLE sluice_default.others OWNER TO narrow; ALTER TABLE sluice_default.versions OWNER TO narrow`)
	f := postgres.Diagnose(t.Context(), with(t, own, "narrow", ""), "--store", "sluice", "sluice_")
	if f.Failed() || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Text, "no tenant can be added") {
		t.Errorf("%+v", f)
	}
}

// name returns the name of the database of a URL.
func name(address string) string {
	u, _ := url.Parse(address) // it was used
	return strings.TrimPrefix(u.Path, "/")
}
