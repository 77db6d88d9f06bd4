#!/usr/bin/env bash
# The demonstration of `make demo`: real measurements on a database server of its
# own in a temporary folder. It installs a server program if none is there, which
# needs root or sudo; a server that already runs here is never touched.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "demo: $*" >&2; }

server_program() {
  local name
  for name in mysqld mariadbd; do
    PATH="$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec" command -v "$name" && return
  done
  return 1
}

# as_root runs a command as root, if there is a way that asks nothing.
as_root() {
  if [[ $(id -u) = 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    sudo "$@"
  else
    return 1
  fi
}

# install_server installs the server's program alone: packages that would also
# start a service of their own come last.
install_server() {
  if command -v apt-get >/dev/null; then
    as_root apt-get install -y -q --no-install-recommends mariadb-server-core ||
      { as_root apt-get update -q && as_root apt-get install -y -q --no-install-recommends mariadb-server-core; }
  elif command -v dnf >/dev/null; then
    as_root dnf install -y mariadb-server
  elif command -v apk >/dev/null; then
    as_root apk add mariadb
  elif command -v pacman >/dev/null; then
    as_root pacman -S --noconfirm mariadb
  elif command -v zypper >/dev/null; then
    as_root zypper --non-interactive install mariadb
  elif command -v brew >/dev/null; then
    brew install mariadb
  else
    return 1
  fi
}

command -v go >/dev/null || { say "go is not installed: https://go.dev/doc/install"; exit 69; }
named=${BENCH_MYSQL_HOST:-}${BENCH_MYSQL_SOCKET:-}${BENCH_DSN:-}
if [[ -z "$named" ]] && ! server_program >/dev/null; then
  say "no mysqld or mariadbd here: installing MariaDB's server program"
  install_server >&2 || {
    say "could not install it. Install mysqld or mariadbd (Debian: apt-get install mariadb-server-core),"
    say "or name a server: BENCH_MYSQL_HOST=... BENCH_MYSQL_USER=... BENCH_MYSQL_PASSWORD=... make demo"
    exit 69
  }
fi
[[ -n "$named" ]] || say "the server is $(server_program), in a folder of its own"

make -s build
if bin/task plan demo >/dev/null 2>&1; then
  run=${BENCH_RUN_ID:-demo-$(date -u +%Y%m%dT%H%M%SZ)}
  BENCH_RUN_ID=$run bin/task study demo
  exec bin/task report "${BENCH_RESULTS:-./results}/$run"
fi
exec env BENCH_TIME="${BENCH_TIME:-10}" BENCH_THREADS="${BENCH_THREADS:-8}" bin/task run
