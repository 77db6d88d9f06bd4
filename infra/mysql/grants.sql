-- The smallest sets of rights that cellbench needs, one for each job. Run the
-- sections of the jobs at hand as an administrator, with another password and,
-- where it differs, another database. They work on MySQL 5.7 and later and on
-- MariaDB 10.5 and later; each section adds to those above it.
--
-- Not needed: PROCESS, RELOAD, FILE, GRANT OPTION, or anything on mysql.*.

-- job: account
CREATE USER 'cellbench'@'%' IDENTIFIED BY 'change me';

-- job: cell
-- A cell on tables that are there (BENCH_PREPARE=never, scenario asis). Workloads
-- that only read need SELECT alone.
GRANT SELECT, INSERT, UPDATE, DELETE ON `sbtest`.* TO 'cellbench'@'%';

-- job: dataset
-- Creating, loading and dropping tables (task prepare, task cleanup,
-- BENCH_PREPARE=auto): CREATE also allows to make the database, INDEX is for the
-- secondary index that is made after the rows.
GRANT CREATE, DROP, INDEX ON `sbtest`.* TO 'cellbench'@'%';

-- job: scenario
-- Changing and reading back the two setup tables, and asking whether the
-- connections of the load are instrumented. The state found is kept in a table of
-- the benchmark database while a cell runs.
GRANT CREATE, DROP ON `sbtest`.* TO 'cellbench'@'%';
GRANT SELECT, UPDATE ON performance_schema.setup_consumers TO 'cellbench'@'%';
GRANT SELECT, UPDATE ON performance_schema.setup_instruments TO 'cellbench'@'%';
GRANT SELECT ON performance_schema.threads TO 'cellbench'@'%';

-- job: init
-- SET GLOBAL in BENCH_INIT_SQL or in a scenario of one's own. MySQL 8.0 and later
-- read the first line, MariaDB the second; MySQL 5.7 needs SUPER as well.
/*!80000 GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'cellbench'@'%' */;
/*M!100500 GRANT SUPER ON *.* TO 'cellbench'@'%' */;
