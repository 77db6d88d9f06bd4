#!/usr/bin/env bash
# Compares the speed of `task prepare` with sysbench's prepare on one server, in
# rows per second. The two take turns within each round, so that whatever else the
# machine does falls on both; printed are the medians over the rounds and the
# median of the ratios of the same round.
#
#   scripts/bench-load.sh                      # all cases
#   scripts/bench-load.sh 1x500000:2 4x125000:2
#
# A case is tables x rows of each, and a number of threads. Needs sysbench, Go and
# a server: the one of BENCH_MYSQL_HOST (_PORT, _USER, _PASSWORD, whose database
# sbtest must be free of tables sbtest1...), else a throwaway mariadbd or mysqld.
#
# Settings: ROUNDS (3), SERVER (mariadbd or mysqld), TASK (a built binary).
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-3}
cases=("$@")
[[ $# -gt 0 ]] || cases=(1x500000:2 1x500000:4 4x125000:2 8x62500:4)

say() { echo "bench: $*" >&2; }
die() { say "$*"; exit 1; }
PATH=$PATH:/usr/sbin
command -v sysbench >/dev/null || die "sysbench is not installed"

work=$(mktemp -d)
server=
finish() {
  if [[ -n $server ]]; then
    kill "$server" && wait "$server" || true
  fi
  rm -rf "$work"
}
trap finish EXIT

# start_server runs a throwaway server with its default durability, so that every
# INSERT is synced to disk, and enough memory and log for the data.
start_server() {
  local program=${SERVER:-} user=() options
  [[ -n $program ]] || program=$(command -v mariadbd mysqld | head -n 1)
  program=$(command -v "$program") || die "no server program; set BENCH_MYSQL_HOST"
  [[ $(id -u) != 0 ]] || user=(--user=root)
  options=(--no-defaults --datadir="$work/data" "${user[@]}" --socket="$work/s" --skip-networking --skip-log-bin
    --innodb-buffer-pool-size=1G --pid-file="$work/pid" --log-error="$work/log")
  if [[ $("$program" --version) == *MariaDB* ]]; then
    mariadb-install-db --no-defaults --datadir="$work/data" "${user[@]}" --auth-root-authentication-method=normal --skip-test-db >"$work/init" 2>&1 ||
      die "$(cat "$work/init")"
    options+=(--innodb-log-file-size=512M)
  else
    "$program" --no-defaults --datadir="$work/data" "${user[@]}" --initialize-insecure >"$work/init" 2>&1 || die "$(cat "$work/init")"
    options+=(--mysqlx=OFF --innodb-redo-log-capacity=1G)
  fi
  echo "CREATE DATABASE IF NOT EXISTS sbtest;" >"$work/first.sql"
  "$program" "${options[@]}" --init-file="$work/first.sql" &
  server=$!
  for _ in $(seq 300); do
    [[ -S $work/s ]] && return
    kill -0 "$server" 2>/dev/null || die "$(tail "$work/log")"
    sleep 0.2
  done
  die "the server does not answer"
}

if [[ -z ${BENCH_MYSQL_HOST:-} ]]; then
  start_server
  export BENCH_MYSQL_SOCKET=$work/s BENCH_MYSQL_USER=root
  connect=(--mysql-socket="$work/s" --mysql-user=root)
else
  export BENCH_MYSQL_HOST
  connect=(--mysql-host="$BENCH_MYSQL_HOST" --mysql-port="${BENCH_MYSQL_PORT:-3306}"
    --mysql-user="${BENCH_MYSQL_USER:-root}" --mysql-password="${BENCH_MYSQL_PASSWORD:-}")
fi
export BENCH_MYSQL_DB=sbtest
task=${TASK:-$work/task}
[[ -n ${TASK:-} ]] || go build -o "$task" ./task

# timed prints how many seconds a command takes.
timed() {
  local from=$EPOCHREALTIME
  "$@" >"$work/out" 2>&1 || die "$*: $(tail -n 3 "$work/out")"
  awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f\n", b - a }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

printf '%-16s %14s %14s %8s %8s %8s\n' tables:threads "cellbench rows/s" "sysbench rows/s" ratio lowest highest
for c in "${cases[@]}"; do
  tables=${c%%x*} rows=${c#*x} threads=${c#*:}
  rows=${rows%%:*}
  export BENCH_TABLES=$tables BENCH_TABLE_SIZE=$rows BENCH_PREPARE_THREADS=$threads
  their=(sysbench "${connect[@]}" --mysql-db=sbtest --tables="$tables" --table-size="$rows" --threads="$threads" --rand-type=uniform oltp_read_write)
  : >"$work/ours" && : >"$work/theirs" && : >"$work/ratios"
  for ((i = 0; i < rounds; i++)); do
    a=$(timed "$task" prepare)
    "$task" cleanup >/dev/null 2>&1
    sleep 1
    b=$(timed "${their[@]}" prepare)
    "${their[@]}" cleanup >/dev/null
    sleep 1
    awk -v n=$((tables * rows)) -v a="$a" 'BEGIN { print n / a }' >>"$work/ours"
    awk -v n=$((tables * rows)) -v b="$b" 'BEGIN { print n / b }' >>"$work/theirs"
    awk -v a="$a" -v b="$b" 'BEGIN { print b / a }' >>"$work/ratios"
  done
  printf '%-16s %14.0f %14.0f %8.2f %8.2f %8.2f\n' "$c" "$(median <"$work/ours")" "$(median <"$work/theirs")" \
    "$(median <"$work/ratios")" "$(sort -n "$work/ratios" | head -n 1)" "$(sort -n "$work/ratios" | tail -n 1)"
done
