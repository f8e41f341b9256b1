package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sluice-rag/sluice/doctor"
)

// Diagnose checks the database of a URL, the rights to the schema with a name, and to those that begin with a prefix. It also creates a schema with a
// table, writes, reads and deletes a row, and rolls all of it back. The setting is the name of the URL in messages.
func Diagnose(ctx context.Context, url, setting, name, prefix string) doctor.Finding {
	f := doctor.Finding{Part: "records", Engine: "PostgreSQL"}
	d, err := newDatabase(ctx, url)
	if err != nil {
		f.Fail(err.Error(), "correct "+setting)
		return f
	}
	defer d.Close()
	s, err := d.Status(ctx)
	f.Address, f.Version = s.Address, s.Version
	switch {
	case s.Version == "":
		diagnoseConnection(&f, err, setting)
		return f
	case err != nil:
		f.Fail(err.Error(), "upgrade PostgreSQL, or use another database in "+setting)
		return f
	}
	f.SetRoundTrip(s.RoundTrip)
	f.SetClock(s.Skew, s.RoundTrip)
	missing, schemas, err := d.missingRights(ctx, name, prefix)
	switch {
	case err != nil:
		f.Fail("the rights cannot be read: "+err.Error(), "see the log of PostgreSQL")
	case len(missing) > 0:
		f.Fail(fmt.Sprintf("the user lacks rights to %s", strings.Join(missing, ", ")), "make the user the owner of the database and of all schemas and tables of Sluice")
	default:
		f.Detail("%d schemas of Sluice", schemas)
	}
	took, err := d.tryTable(ctx)
	switch code := codeOf(err); {
	case err == nil:
		f.Detail("a row was written, read and deleted in %v", took.Round(100*time.Microsecond))
	case code == "42501" && schemas > 1 && len(missing) == 0: // insufficient_privilege
		f.Warn("the user may not create schemas, so no tenant can be added", "GRANT CREATE ON DATABASE … TO the user")
	case code == "42501":
		f.Fail("the user may not create schemas in the database", "GRANT CREATE ON DATABASE … TO the user, or make the user its owner")
	case code == "53100": // disk_full
		f.Fail("the disk of the database is full", "free space on it")
	default:
		f.Fail("a table cannot be written: "+err.Error(), "see the log of PostgreSQL")
	}
	return f
}

// diagnoseConnection adds the problem of a connection that could not be made.
func diagnoseConnection(f *doctor.Finding, err error, setting string) {
	code := codeOf(err)
	switch {
	case code == "28P01", code == "28000": // invalid_password, invalid_authorization_specification
		f.Fail("it refuses the user or the password", "correct them in "+setting+", or permit the user in pg_hba.conf")
	case code == "3D000": // invalid_catalog_name
		f.Fail("the database does not exist", "create it, or correct its name in "+setting)
	case code == "42501": // insufficient_privilege
		f.Fail("the user may not connect to the database", "GRANT CONNECT ON DATABASE … TO the user")
	case code == "53300": // too_many_connections
		f.Fail("all of its connections are in use", "raise max_connections, or set a lower pool_max_conns in "+setting)
	case code == "57P03": // cannot_connect_now
		f.Fail("it is starting or stopping", "wait, and see the log of PostgreSQL")
	case !f.Unreachable(err, setting):
		f.Fail("it cannot be reached: "+err.Error(), "check that it runs, and the address in "+setting)
	}
}

// missingRights returns the schemas and tables of Sluice that the user cannot use as servers do, and the number of the schemas.
func (d *Database) missingRights(ctx context.Context, name, prefix string) (missing []string, schemas int, err error) {
	err = (&db{Database: d}).Each(ctx, func(scan func(...any) error) error {
		var at string
		var table, ok bool
		if err := scan(&at, &table, &ok); err != nil {
			return err
		}
		if !table {
			schemas++
		}
		if !ok {
			missing = append(missing, at)
		}
		return nil
	}, `WITH own AS (SELECT oid, nspname FROM pg_namespace WHERE nspname = ? OR starts_with(nspname, ?))
		SELECT nspname::text, false, has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE') FROM own
		UNION ALL SELECT own.nspname || '.' || c.relname, true, pg_has_role(c.relowner, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
			AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')
		FROM pg_class c JOIN own ON c.relnamespace = own.oid WHERE c.relkind = 'r' ORDER BY 1`, name, prefix)
	return missing, schemas, err
}

// tryTable creates a schema and a table, writes, reads and deletes a row, and rolls all of it back.
func (d *Database) tryTable(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	c, err := d.pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer c.Release() // it closes a connection that is still in a transaction
	table := pgx.Identifier{"sluice_doctor_" + strings.ToLower(rand.Text()), "trial"}
	var n int
	for _, s := range []string{"BEGIN", "CREATE SCHEMA " + quote(table[0]), "CREATE TABLE " + table.Sanitize() + " (n int)", "INSERT INTO " + table.Sanitize() + " VALUES (1)"} {
		if _, err := c.Exec(ctx, s, pgx.QueryExecModeSimpleProtocol); err != nil {
			return 0, err
		}
	}
	if err := c.QueryRow(ctx, "DELETE FROM "+table.Sanitize()+" RETURNING n").Scan(&n); err != nil {
		return 0, err
	}
	_, err = c.Exec(ctx, "ROLLBACK", pgx.QueryExecModeSimpleProtocol)
	return time.Since(begin), err
}
