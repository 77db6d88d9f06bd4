// Package integration holds the tests of the whole task: the real binary, with a
// clean environment, against real servers in containers.
//
// The helpers, all in files that start with "harness":
//
//	requireDocker(t)            skip without a Docker daemon; fail when CI is set
//	requireProgram(t, "sysbench") likewise for a program on PATH; returns its path
//	missing(t, "...")           the same for anything else
//
//	mysqlServer(t)              a MySQL shared by all tests (image mysql:8.4, or MYSQL_IMAGE)
//	mariadbServer(t)            a MariaDB shared by all tests, performance_schema on
//	eachServer(t, func(t, srv)) one subtest on each of the two
//	newServer(t, mysqlFlavour, "--performance-schema=OFF", ...)
//	                            a server of this test's own, with options, gone at its end
//	srv.Database(t)             a fresh schema of this test's own, dropped at its end
//	srv.Env(db)                 BENCH_MYSQL_* that lead there, as root
//	srv.EnvAs(db, user, pass)   the same as somebody else
//	srv.User(t, grants...)      a fresh account with exactly these grants ("SELECT ON db.*")
//	srv.Open(t, db)             a *sql.DB of root, for looking and for making trouble
//	srv.Exec(t, db, sql...)     statements as root
//	srv.Kill(t), srv.Host, srv.Port, srv.Password, srv.Container
//
//	s3Gateway(t)                an S3 gateway shared by all tests
//	gw.Bucket(t)                a fresh bucket
//	gw.Env()                    AWS_* that lead there
//	gw.Keys(t, bucket, prefix)  the keys in it; gw.Object(t, bucket, key) one body
//
//	taskBinary(t)               path of the binary, built once
//	runTask(t, env, args...)    run it to its end: Stdout, Stderr, Code, Elapsed, Dir
//	startTask(t, env, args...)  start it: p.Signal, p.Wait, p.Pid, p.Stderr() so far
//	run.Result(t)               the result on stdout, validated
//	validateResult(t, json)     against the JSON Schema, and that its numbers add up
//	storedResults(t, dir)       every result below a results directory, validated
//
// A run's environment is PATH, HOME and TMPDIR (folders of the test), and what the
// test gives; its working directory is a folder of the test's own. Servers that
// are shared must be left as they were found.
//
// Shared containers live until TestMain ends. Those of a run that was killed are
// removed by the next one, which knows them by a label.
package integration
