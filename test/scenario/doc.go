// Package scenario plays whole runs against a real cluster as a user would: with the programs tandem and kubectl,
// the files of examples/, and nothing else.
//
// A scenario holds only if all of it does: the result, the exit code, the exchange of endpoints, the reason of a
// failure, that no pod is left running, and that `tandem down` leaves no object behind.
package scenario
