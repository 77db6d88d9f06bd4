#!/bin/sh
# Entry point of the stand-in database images. It understands the variables of
# the official mysql and mariadb images and prepares a data directory the same
# way: initialise, create the accounts on a server that listens on a socket only,
# then become the server itself.
#
#   MYSQL_ROOT_PASSWORD, MYSQL_ALLOW_EMPTY_PASSWORD, MYSQL_RANDOM_ROOT_PASSWORD
#   MYSQL_ROOT_HOST (default %), MYSQL_DATABASE, MYSQL_USER, MYSQL_PASSWORD
#
# Each may end in _FILE and name a file that holds the value. On MariaDB the
# same names with MARIADB_ in front win. Files in /docker-entrypoint-initdb.d
# (*.sql, *.sh) run once, in order. Arguments are options for the server.
set -eu

log() { echo "[entrypoint] $*" >&2; }
fail() { log "$*"; exit 1; }

if command -v mariadbd >/dev/null 2>&1; then
	flavour=mariadb server=mariadbd client=mariadb
else
	flavour=mysql server=mysqld client=mysql
fi

case "${1:-}" in
'' | -*) set -- "$server" "$@" ;;
mysqld | mariadbd) shift && set -- "$server" "$@" ;;
*) exec "$@" ;; # some other program: a shell, a client
esac
for arg in "$@"; do
	case "$arg" in --help | --version | -V | '-?') exec "$@" ;; esac
done

# setting NAME prints the value of MARIADB_NAME or MYSQL_NAME, directly or
# through the file that the same name with _FILE points to.
setting() {
	prefixes=MYSQL
	[ "$flavour" = mariadb ] && prefixes='MARIADB MYSQL'
	for prefix in $prefixes; do
		eval "value=\${${prefix}_$1:-}; file=\${${prefix}_$1_FILE:-}"
		if [ -n "$value" ] && [ -n "$file" ]; then
			fail "both ${prefix}_$1 and ${prefix}_$1_FILE are set: choose one"
		fi
		if [ -n "$file" ]; then
			[ -r "$file" ] || fail "cannot read ${prefix}_$1_FILE=$file as $(id -un)"
			value=$(cat "$file") # drops the newline at the end
		fi
		if [ -n "$value" ]; then
			printf '%s' "$value"
			return
		fi
	done
}

# quote makes an SQL string literal.
quote() { printf "'%s'" "$(printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e "s/'/''/g")"; }

datadir=/var/lib/mysql
for arg in "$@"; do
	case "$arg" in --datadir=*) datadir=${arg#*=} ;; esac
done

# Secrets are read before privileges are dropped: their files may be root's.
new=
[ -d "$datadir/mysql" ] || new=yes
if [ "$new" ]; then
	root_password=$(setting ROOT_PASSWORD)
	random=$(setting RANDOM_ROOT_PASSWORD)
	empty=$(setting ALLOW_EMPTY_PASSWORD)
	[ "$flavour" = mariadb ] && empty=$empty$(setting ALLOW_EMPTY_ROOT_PASSWORD)
	if [ -n "$random" ]; then
		root_password=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')
		log "GENERATED ROOT PASSWORD: $root_password"
	fi
	[ -n "$root_password$empty" ] || fail "the data directory is empty and no root password is given: set one of \
MYSQL_ROOT_PASSWORD, MYSQL_ALLOW_EMPTY_PASSWORD, MYSQL_RANDOM_ROOT_PASSWORD"
	root_host=$(setting ROOT_HOST)
	database=$(setting DATABASE)
	user=$(setting USER)
	password=$(setting PASSWORD)
	[ "$user" != root ] || fail "MYSQL_USER must not be root, which exists already"
	[ -z "$user" ] || [ -n "$password" ] || fail "MYSQL_USER is set without MYSQL_PASSWORD"
fi

run=
if [ "$(id -u)" = 0 ]; then
	mkdir -p "$datadir" /run/mysqld /var/lib/mysql-files
	find "$datadir" /run/mysqld /var/lib/mysql-files \! -user mysql -exec chown mysql:mysql {} +
	run='setpriv --reuid=mysql --regid=mysql --clear-groups'
fi

initialise() {
	if [ "$flavour" = mariadb ]; then
		$run mariadb-install-db --datadir="$datadir" --auth-root-authentication-method=normal \
			--skip-test-db --skip-name-resolve --rpm >&2
	else
		$run "$@" --initialize-insecure
	fi
}

# Not echo: the shell's own reads backslashes.
say() { printf '%s\n' "$1"; }

accounts() {
	say "SET @@SESSION.SQL_LOG_BIN = 0;"
	if [ "$flavour" = mariadb ]; then # accounts without a password that the set-up leaves behind
		for host in 127.0.0.1 ::1 "$(hostname)"; do say "DROP USER IF EXISTS 'root'@'$host';"; done
	fi
	secret=$(quote "$root_password")
	if [ "${root_host:=%}" != localhost ]; then
		say "CREATE USER 'root'@$(quote "$root_host") IDENTIFIED BY $secret;"
		say "GRANT ALL ON *.* TO 'root'@$(quote "$root_host") WITH GRANT OPTION;"
	fi
	if [ -n "$database" ]; then
		name=$(printf '%s' "$database" | sed 's/`/``/g')
		say "CREATE DATABASE IF NOT EXISTS \`$name\`;"
	fi
	if [ -n "$user" ]; then
		say "CREATE USER $(quote "$user")@'%' IDENTIFIED BY $(quote "$password");"
		if [ -n "$database" ]; then
			pattern=$(printf '%s' "$name" | sed 's/_/\\_/g; s/%/\\%/g')
			say "GRANT ALL ON \`$pattern\`.* TO $(quote "$user")@'%';"
		fi
	fi
	# The last, because it is the account this script comes in with.
	say "ALTER USER 'root'@'localhost' IDENTIFIED BY $secret;"
}

if [ "$new" ]; then
	log "initialising $datadir"
	initialise "$@"
	socket=/run/mysqld/init.sock
	$run "$@" --skip-networking --socket="$socket" --pid-file=/run/mysqld/init.pid &
	pid=$!
	tries=0
	until $client --no-defaults -uroot --socket="$socket" -e 'DO 1' >/dev/null 2>&1; do
		kill -0 "$pid" 2>/dev/null || fail "the server stopped while its accounts were to be created; its log is above"
		tries=$((tries + 1))
		[ "$tries" -lt 1200 ] || fail "the server did not answer on its socket for two minutes"
		sleep 0.1
	done
	accounts | $client --no-defaults -uroot --socket="$socket"
	for file in /docker-entrypoint-initdb.d/*; do
		case "$file" in
		*.sql)
			log "running $file"
			MYSQL_PWD=$root_password $client --no-defaults -uroot --socket="$socket" ${database:+"$database"} <"$file"
			;;
		*.sh)
			log "running $file"
			sh "$file"
			;;
		esac
	done
	kill -TERM "$pid"
	wait "$pid" || fail "the server did not stop cleanly after its accounts were created"
	log "ready: accounts created"
fi

unset root_password password secret
exec $run "$@"
