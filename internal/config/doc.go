// Package config defines the settings of the program and reads them from flags, environment variables and a YAML file.
//
// A setting is a field of a section of [Config]. Its tags hold the name, default, limits and help text. kong derives the flag
// from the tags, [Loader] derives the variable and the key in the file, and the test of this package generates
// docs/configuration.md. To add a setting, add a field and run the test with -update.
package config
