// Package chaos tests that readers of a group of servers notice nothing when servers die. Three servers share three NATS servers and a PostgreSQL, each in
// a process of its own. While questions are asked and answers are read in every protocol, processes are killed, stopped and started again, and
// connections are cut. Afterwards every run must have one end and the whole text, and every reader must have had each frame once and in order.
//
// The suite has the rolling restart, and each fault once, which takes half a minute on an idle machine. `make chaos` runs ten minutes and prints a report.
package chaos
