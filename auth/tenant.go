package auth

import (
	"regexp"

	"github.com/sluice-rag/sluice/fault"
)

var (
	tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	// reservedName matches the names of devices, which Windows does not allow as names of folders.
	reservedName = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
)

// ValidateTenant returns an error if a name is not that of a tenant: 1 to 64 lower-case letters, digits and dashes that begin with a
// letter or digit. Names are safe as names of folders on each system. Errors: [fault.InvalidRequest] for the field tenant.
func ValidateTenant(name string) error {
	if !tenantName.MatchString(name) || reservedName.MatchString(name) {
		return fault.Invalid("tenant", "want 1 to 64 lower-case letters, digits and dashes that begin with a letter or digit, and no name of a device such as con")
	}
	return nil
}
