#!/usr/bin/env bash
# Compares the load engines with sysbench 1.0 on one server: client CPU per query,
# QPS and peak memory. The three take turns within each round, so that whatever
# else the machine does falls on all of them; printed are the medians over the
# rounds and the medians of the ratios to sysbench in the same round.
#
#   scripts/bench-engines.sh              # all cases
#   scripts/bench-engines.sh point:8 rw:64 point_text:8
#
# A case is point, range, rw, or one of these with _text or _tls, and a number of
# threads. With _tls both tools encrypt; certificates are those that MySQL makes for
# itself, so these cases need the throwaway server.
# Needs sysbench, Go and a server: the one of BENCH_MYSQL_HOST (_PORT, _USER,
# _PASSWORD, whose database sbtest is used and whose table sbtest1 is left there),
# else a throwaway MySQL from the image mysql:8.4 on the host's network, else from
# mysqld on PATH.
#
# Settings: ROUNDS (5), SECONDS_EACH (4), ENGINES ("wire driver"), TABLE_SIZE
# (100000), LOOPS (0: one per CPU), TASK (a built binary).
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-4}
read -ra engines <<<"${ENGINES:-wire driver}"
size=${TABLE_SIZE:-100000}
cases=("$@")
[[ $# -gt 0 ]] || cases=(point:8 point:64 point:512 range:8 range:64 range:512 rw:8 rw:64 point_text:8 point_tls:8 range_tls:64)

say() { echo "bench: $*" >&2; }
die() { say "$*"; exit 1; }
command -v sysbench >/dev/null || die "sysbench is not installed"

work=$(mktemp -d)
container= server=
finish() {
  [[ -z $container ]] || docker rm -f -v "$container" >/dev/null
  if [[ -n $server ]]; then
    kill "$server" && wait "$server" || true
  fi
  rm -rf "$work"
}
trap finish EXIT

host=${BENCH_MYSQL_HOST:-} port=${BENCH_MYSQL_PORT:-3306}
user=${BENCH_MYSQL_USER:-root} password=${BENCH_MYSQL_PASSWORD:-}
options=(--bind-address=127.0.0.1 --mysqlx=OFF --max-connections=2000 --innodb-buffer-pool-size=512M
  --innodb-flush-log-at-trx-commit=2 --skip-log-bin)

# free_port prints a port of loopback on which nothing listens.
free_port() {
  local p
  for p in $(shuf -i 20000-32000 -n 20); do
    (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p" && return; }
  done
  die "no free port found"
}

start_server() {
  host=127.0.0.1 port=$(free_port) user=root password=
  if docker image inspect mysql:8.4 >/dev/null 2>&1; then
    container=$(docker run -d --network host -e MYSQL_ALLOW_EMPTY_PASSWORD=1 -e MYSQL_ROOT_HOST=% -e MYSQL_DATABASE=sbtest mysql:8.4 \
      --port="$port" "${options[@]}")
  elif mysqld --version 2>/dev/null | grep -qv MariaDB; then
    mysqld --no-defaults --user="$(id -un)" --datadir="$work/data" --initialize-insecure 2>"$work/init.log" ||
      die "mysqld did not initialise: $(tail -n 3 "$work/init.log")"
    echo 'CREATE DATABASE IF NOT EXISTS sbtest;' >"$work/init.sql"
    mysqld --no-defaults --user="$(id -un)" --datadir="$work/data" --socket="$work/s" --port="$port" "${options[@]}" \
      --init-file="$work/init.sql" \
      2>"$work/server.log" &
    server=$!
  else
    die "no server: set BENCH_MYSQL_HOST, build the image mysql:8.4 (make images) or install mysqld"
  fi
}

common() {
  echo --mysql-host="$host" --mysql-port="$port" --mysql-user="$user" --mysql-password="$password" \
    --table-size="$size" --rand-type=uniform --mysql-ignore-errors=1213,1020,1205
}

# prepare makes sbtest1 by sysbench, so that both tools run on its table.
prepare() {
  local try
  for try in $(seq 60); do
    # shellcheck disable=SC2046
    if sysbench oltp_read_write $(common) --mysql-db=mysql --report-interval=0 --time=1 --events=1 prepare \
      --tables=0 >"$work/try" 2>&1; then
      break
    fi
    [[ $try -lt 60 ]] || die "the server on port $port does not answer: $(tail -n 2 "$work/try")"
    sleep 1
  done
  BENCH_MYSQL_HOST=$host BENCH_MYSQL_PORT=$port BENCH_MYSQL_USER=$user BENCH_MYSQL_PASSWORD=$password \
    BENCH_TABLE_SIZE=$size "$task" prepare >"$work/prepare" 2>&1 || die "prepare failed: $(tail -n 3 "$work/prepare")"
}

# peak prints the peak memory in kB of a process until it ends.
peak() {
  local kb=0 now
  while now=$(awk '/^VmHWM/ {print $2}' "/proc/$1/status" 2>/dev/null) && [[ -n $now ]]; do
    kb=$now
    sleep 0.1
  done
  echo "$kb"
}

# certificates puts a client's key and certificates, made by the server, where
# sysbench 1.0 looks for them: under fixed names in its working directory.
certificates() {
  local f
  for f in ca.pem client-cert.pem client-key.pem; do
    if [[ -n $container ]]; then
      docker cp "$container:/var/lib/mysql/$f" "$work/$f" >/dev/null
    elif [[ -f $work/data/$f ]]; then
      cp "$work/data/$f" "$work/$f"
    fi
    [[ -s $work/$f ]] || die "no $f: cases with _tls need a throwaway server of MySQL"
  done
  mv "$work/ca.pem" "$work/cacert.pem"
}

# sysbench_run CASE THREADS prints qps, CPU microseconds per query and peak kB.
sysbench_run() {
  local args=() name=${1%_t*}
  case $name in
  point) args+=(oltp_point_select) ;;
  range) args+=(oltp_read_only --point_selects=0 --sum_ranges=0 --order_ranges=0 --distinct_ranges=0 --skip_trx=on) ;;
  rw) args+=(oltp_read_write) ;;
  *) die "unknown case $1" ;;
  esac
  [[ $1 != *_text ]] || args+=(--db-ps-mode=disable)
  [[ $1 != *_tls ]] || args+=(--mysql-ssl=on)
  local TIMEFORMAT='%U %S' pid
  # shellcheck disable=SC2046
  {
    time {
      (cd "$work" && exec sysbench "${args[@]}" $(common) --threads="$2" --time="$seconds" run) >"$work/sysbench" 2>&1 &
      pid=$!
      peak "$pid" >"$work/peak"
      wait "$pid" || { cat "$work/sysbench" >&2; die "sysbench failed"; }
    }
  } 2>"$work/time"
  awk -v cpu="$(tail -n 1 "$work/time")" -v kb="$(cat "$work/peak")" '
    /queries:/ { gsub(/[(]/, ""); split(cpu, c, " "); print $3, (c[1] + c[2]) * 1e6 / $2, kb }' "$work/sysbench"
}

# engine_run ENGINE CASE THREADS prints the same for one of our engines.
engine_run() {
  local name=${2%_t*}
  (
    export BENCH_MYSQL_HOST=$host BENCH_MYSQL_PORT=$port BENCH_MYSQL_USER=$user BENCH_MYSQL_PASSWORD=$password
    export BENCH_TABLE_SIZE=$size BENCH_PREPARE=never BENCH_THREADS=$3 BENCH_TIME=$seconds BENCH_WARMUP_TIME=1
    export BENCH_ENGINE=$1 BENCH_RESULTS=$work/results BENCH_LOOPS=${LOOPS:-0}
    case $name in
    point) export BENCH_WORKLOAD=oltp_point_select ;;
    range)
      export BENCH_WORKLOAD=oltp_read_only BENCH_POINT_SELECTS=0 BENCH_SUM_RANGES=0 BENCH_ORDER_RANGES=0
      export BENCH_DISTINCT_RANGES=0 BENCH_SKIP_TRX=on
      ;;
    rw) export BENCH_WORKLOAD=oltp_read_write ;;
    esac
    [[ $2 != *_text ]] || export BENCH_DB_PS_MODE=disable
    [[ $2 != *_tls ]] || export BENCH_MYSQL_TLS=required
    "$task" run >"$work/result.json" 2>"$work/log" || { cat "$work/log" >&2; die "task run failed"; }
  )
  awk '
    /^  "[a-z]+": [{]/ { section = $1 }
    section == "\"throughput\":" && /"qps":/ { qps = $2 + 0 }
    section == "\"client\":" && /"us_per_query":/ { cpu = $2 + 0 }
    section == "\"client\":" && /"max_rss_bytes":/ { kb = $2 / 1024 }
    END { print qps, cpu, kb }' "$work/result.json"
}

# summary prints the medians and ratios of the measurements made so far.
summary() {
  awk -v engines="sysbench ${engines[*]}" '
    function median(list,   v, n, i, j, t) {
      n = split(list, v, " ")
      for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j-1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j-1]; v[j-1] = t }
      return n % 2 ? v[(n+1)/2] : (v[n/2] + v[n/2+1]) / 2
    }
    {
      key = $1; if (!(key in seen)) { seen[key] = 1; order[++n] = key }
      qps[key, $3] = qps[key, $3] " " $4; cpu[key, $3] = cpu[key, $3] " " $5; kb[key, $3] = kb[key, $3] " " $6
      if ($3 == "sysbench") { bq[key, $2] = $4; bc[key, $2] = $5; bk[key, $2] = $6 }
      else if (bc[key, $2] > 0) {
        rq[key, $3] = rq[key, $3] " " $4 / bq[key, $2]
        rc[key, $3] = rc[key, $3] " " $5 / bc[key, $2]
        rk[key, $3] = rk[key, $3] " " $6 / bk[key, $2]
      }
    }
    END {
      printf "%-16s %-9s %10s %8s %8s   %s\n", "case:threads", "", "QPS", "us/query", "MB", "ratios to sysbench: CPU/query, QPS, memory"
      m = split(engines, e, " ")
      for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) {
        k = order[i]
        if (qps[k, e[j]] == "") continue
        printf "%-16s %-9s %10.0f %8.2f %8.1f", k, e[j], median(qps[k, e[j]]), median(cpu[k, e[j]]), median(kb[k, e[j]]) / 1024
        if (e[j] != "sysbench") printf "   %5.2f %5.2f %5.2f", median(rc[k, e[j]]), median(rq[k, e[j]]), median(rk[k, e[j]])
        print ""
      }
    }' "$work/raw"
}

task=${TASK:-$work/task}
[[ -n ${TASK:-} ]] || go build -o "$task" ./task
[[ -n $host ]] || start_server
say "$(nproc) CPUs, $(sysbench --version), $rounds rounds of $seconds s each"
prepare
if [[ "${cases[*]}" == *_tls* ]]; then certificates; fi
: >"$work/raw"
for c in "${cases[@]}"; do
  for round in $(seq "$rounds"); do
    echo "$c $round sysbench $(sysbench_run "${c%:*}" "${c#*:}")" >>"$work/raw"
    for e in "${engines[@]}"; do
      echo "$c $round $e $(engine_run "$e" "${c%:*}" "${c#*:}")" >>"$work/raw"
    done
  done
  say "done: $c"
done
summary
