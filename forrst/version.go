package forrst

import (
	"strings"

	"golang.org/x/mod/semver"
)

// validVersion reports whether v is a complete semantic version: 1.2.3, with or without prerelease and build.
func validVersion(v string) bool {
	full := "v" + v
	return semver.IsValid(full) && semver.Canonical(full)+semver.Build(full) == full
}

// shortVersion reports whether v is a version of which the patch, or the minor and the patch, are left out.
func shortVersion(v string) bool {
	full := "v" + v
	return semver.IsValid(full) && !strings.ContainsAny(v, "-+") && strings.Count(v, ".") < 2
}

// matchesShort reports whether a complete version belongs to a short one.
func matchesShort(version, short string) bool { return strings.HasPrefix(version, short+".") }

// compareVersions orders versions by the precedence of semantic versioning, and versions that differ only in their
// build by its text, so that the order is total.
func compareVersions(a, b string) int {
	if c := semver.Compare("v"+a, "v"+b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// stability returns stable, alpha, beta or rc, by the prerelease of a version.
func stability(v string) string {
	pre := strings.TrimPrefix(semver.Prerelease("v"+v), "-")
	switch {
	case pre == "":
		return "stable"
	case strings.HasPrefix(pre, "beta"):
		return "beta"
	case strings.HasPrefix(pre, "rc"):
		return "rc"
	}
	return "alpha"
}
