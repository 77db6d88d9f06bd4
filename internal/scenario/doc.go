// Package scenario puts a server into a named state, proves it and puts it back.
//
// A scenario is data: what the server must be (require), what is changed (apply),
// how it is read back (verify) and how it is undone (undo). The built-in ones are
// in catalogue.yaml and take the same way through the code as a user's own file.
//
// [Apply] works in this order: restore what a killed cell left behind, read the
// state found, check what is required, save the state in the benchmark database
// (table cellbench_state), change, read back, compare. [Session.CheckAfter] reads
// again after the measured window, [Session.Restore] puts back and removes the
// saved state. The whole of performance_schema's setup_consumers and
// setup_instruments is read, hashed and restored, whatever was changed in them.
//
// What performance_schema says about itself must be read with care: with
// performance_schema=OFF every UPDATE of a setup table succeeds with no rows, and
// some flags cannot be changed although the UPDATE succeeds. So nothing here
// trusts a statement's success; only what is read back counts.
package scenario
