// Package wire is the fast load engine: a few event loops, each a locked OS
// thread with an epoll of its own, speak the MySQL protocol over non-blocking
// sockets. It spends less client CPU per statement than a thread or a goroutine
// per connection does, since one wake-up serves every connection that is ready
// and, but for TLS, nothing is allocated per event. Linux only; New says so elsewhere.
//
// # Protocol
//
// Handshake and authentication are not done here: a Dial hands over a socket in
// the command phase and the capabilities that were negotiated on it, so every
// authentication plugin works. Answers are read, not decoded: rows are counted
// and their bytes measured. Understood are text and prepared execution, OK, ERR
// and EOF packets, result sets with and without CLIENT_DEPRECATE_EOF, several
// result sets, packets over 16 MiB, session-state information,
// CLIENT_QUERY_ATTRIBUTES, and MariaDB's cached metadata and progress reports.
// LOAD DATA LOCAL is refused. Compression and optional result set metadata are not
// spoken: Connect returns an error when they were negotiated, and the
// driver engine serves such targets.
//
// # What it costs and why
//
// The descriptor is taken out of Go's network poller (duplicated, the original
// closed), since a descriptor registered in two epolls is woken twice. System
// calls are raw: the loop's thread keeps its scheduler slot while it sleeps in
// epoll, so that waking costs no hand-off. The Go runtime then preempts the
// thread by signal every 10 ms and EINTR is normal. GOMAXPROCS is raised to
// loops+2 while the engine lives, so that the rest of the program still runs.
//
// A closed loop runs under the policy SCHED_BATCH. Under the default one, the first
// answer that a server on the same machine sends wakes the loop at once, which then
// interrupts the server's threads, serves that one answer and sleeps again: most of
// the cost is switching between them. A batch thread lets whoever runs go on until
// it waits, finds several answers and serves them in one go. With MySQL on the same
// two CPUs that took CPU per query down to 0.55 and QPS up to 1.25 times what they
// were (point select, 8 and 64 connections). With a CPU to itself the loop runs as
// soon as it is woken under either policy. In an open loop (BENCH_RATE) it stays at
// the default: there the answers' times are what is looked at, and a batch thread
// waits its turn behind other work on a busy machine (the 99th percentile at 8,000
// events/s rose from 2.4 to 3.4 ms). Yielding the processor before each sleep had
// the same effect on CPU but far worse on latency.
//
// # TLS
//
// crypto/tls shakes hands on the socket; then the loop slips in between: bytes that
// arrive are given to the *tls.Conn to read, records that it writes are sent. A read
// without bytes is an error that crypto/tls knows to be temporary. Sealing and
// opening the two records of a point select take about half a microsecond on the
// client (BenchmarkTLSRecords has both ends), in 3 small allocations. Kernel TLS would
// spare a copy, but needs a kernel built with CONFIG_TLS and keys that crypto/tls
// gives out by KeyLogWriter only. Against sysbench with TLS: 0.37 of its CPU per query
// for point select with 8 connections, 0.27 for 100-row ranges with 64.
//
// # Files
//
//   - wire.go: what callers see
//   - answer.go: the protocol as a state machine over any split of the bytes
//   - encode.go: commands
//   - engine_linux.go, loop_linux.go, conn_linux.go: connections, loops, events
//   - open_linux.go: a socket becomes a connection of a loop
//   - secure_linux.go: TLS between the two
//   - sys_linux.go: system calls
package wire
