// Package mysql is the door to a server: it connects (TCP, Unix socket, TLS,
// password or token), waits until the server is ready, reads facts and status
// counters, holds the lock of the target and says what an error means for the
// exit code of the process.
//
// It is the only room beside the driver engine that imports go-sql-driver. All
// connections are single connections without a pool: what cellbench sends is
// exactly what the caller asked for. The driver's own logger is silenced, since
// everything it would print is also returned.
package mysql
