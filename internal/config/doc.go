// Package config is every setting of the program: its name, default, limits and help in one struct, and the one place
// that reads flags, variables and a YAML file into it.
//
// A setting is one field of one section of [Config]. Its tags are all that is said of it: kong makes the flag from them,
// [Loader] the variable and the key of the file, and the test of this package docs/configuration.md. To add a setting, add a
// field and run the test with -update.
package config
