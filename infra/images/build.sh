#!/usr/bin/env bash
# Builds stand-ins, under the same names, for the images that the Dockerfile, the
# compose file and the integration tests use - for machines that reach a Debian
# mirror and a Go module proxy but no image registry. Run as root:
#
#   infra/images/build.sh            # all of them
#   infra/images/build.sh mysql      # some of them
#   infra/images/build.sh --list     # names and what they hold
#   infra/images/build.sh --force    # also those that are up to date
#
# An image carries the hash of its recipe in a label and is built again only when
# that hash changes. An image of the same name without the label came from a
# registry: it is left alone unless --force is given.
#
# Settings: DEBIAN_MIRROR (default http://deb.debian.org/debian),
# CELLBENCH_IMAGE_CACHE (downloaded packages; default /var/cache/cellbench-images).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
cache=${CELLBENCH_IMAGE_CACHE:-/var/cache/cellbench-images}
label=cellbench.recipe

# Pinned, and equal to the tag in docker-compose.yml.
versitygw=v1.8.0

# What each recipe builds. Keep README.md in step.
names=(mysql mariadb golang versitygw compose)
declare -A tag=(
  [mysql]=mysql:8.4
  [mariadb]=mariadb:10.11
  [golang]=golang:1.26
  [versitygw]=versity/versitygw:$versitygw
  [compose]=cellbench-compose:2
)
declare -A holds=(
  [mysql]="MySQL 9.7 of Debian sid with the official image's variables"
  [mariadb]="MariaDB 10.11 of Debian 12 with the official image's variables"
  [golang]="the Go toolchain of this machine on Debian 12"
  [versitygw]="the S3 gateway, one static binary"
  [compose]="docker compose 2 of Debian sid, to test both generations"
)

say() { echo "images: $*" >&2; }
die() { say "$*"; exit 1; }

force=
wanted=()
for arg in "$@"; do
  case "$arg" in
  --force) force=yes ;;
  --list)
    for name in "${names[@]}"; do printf '%-12s %-28s %s\n' "$name" "${tag[$name]}" "${holds[$name]}"; done
    exit 0
    ;;
  -*) die "unknown option $arg (allowed: --force, --list)" ;;
  *)
    [[ -n "${tag[$arg]:-}" ]] || die "unknown image $arg (allowed: ${names[*]})"
    wanted+=("$arg")
    ;;
  esac
done
[[ ${#wanted[@]} -gt 0 ]] || wanted=("${names[@]}")

command -v docker >/dev/null || die "docker is not installed (Debian: apt-get install docker.io)"
docker info >/dev/null 2>&1 || die "the docker daemon does not answer"

work=
cleanup() { [[ -z "$work" ]] || rm -rf --one-file-system "$work"; }
trap cleanup EXIT

# bootstrap SUITE PACKAGES makes a Debian root in $work/root, without caches,
# manuals and translations.
bootstrap() {
  command -v debootstrap >/dev/null || die "debootstrap is not installed (apt-get install debootstrap)"
  [[ $(id -u) = 0 ]] || die "debootstrap needs root: run this with sudo"
  mkdir -p "$cache/$1"
  debootstrap --variant=minbase --cache-dir="$cache/$1" --include="$2" "$1" "$work/root" "$mirror" >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; die "debootstrap of $1 failed"; }
  rm -rf "$work"/root/var/lib/apt/lists/* "$work"/root/var/cache/apt/* "$work"/root/usr/share/{doc,man,locale,info}/*
}

# trust SOURCE copies this machine's certificate bundle over the one in the root,
# so that a build inside a container trusts what this machine trusts.
trust() {
  local bundle=/etc/ssl/certs/ca-certificates.crt
  [[ ! -r $bundle ]] || cp "$bundle" "$work/root$bundle"
}

# import NAME CHANGE... turns $work/root into the image of NAME.
import() {
  local name=$1 changes=() change
  shift
  for change in "$@" "LABEL $label=$hash" "LABEL org.opencontainers.image.title=\"${holds[$name]}\""; do
    changes+=(--change "$change")
  done
  tar -C "$work/root" --numeric-owner -c . | docker import "${changes[@]}" - "${tag[$name]}" >/dev/null
}

# database NAME SUITE PACKAGES
database() {
  local root=$work/root
  bootstrap "$2" "$3"
  chroot "$root" groupadd --system --gid 999 mysql 2>/dev/null || true
  chroot "$root" id mysql >/dev/null 2>&1 ||
    chroot "$root" useradd --system --uid 999 --gid mysql --home-dir /var/lib/mysql --shell /usr/sbin/nologin mysql
  chroot "$root" install -d -o mysql -g mysql /run/mysqld /var/lib/mysql /var/lib/mysql-files
  rm -rf "$root"/var/lib/mysql/* "$root/etc/mysql"
  install -d "$root/docker-entrypoint-initdb.d" "$root/etc/mysql/conf.d"
  install -m 644 "$here/my.cnf" "$root/etc/mysql/my.cnf"
  install -m 755 "$here/entrypoint.sh" "$root/usr/local/bin/docker-entrypoint.sh"
  import "$1" 'ENTRYPOINT ["docker-entrypoint.sh"]' 'EXPOSE 3306' 'VOLUME /var/lib/mysql' \
    'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "CMD $4"
}

build_mysql() {
  database mysql sid mysql-server-core,mysql-client-core,ca-certificates '["mysqld"]'
}

build_mariadb() {
  database mariadb bookworm mariadb-server-core,mariadb-client-core,ca-certificates '["mariadbd"]'
}

# go_settings prints the settings with which `go` downloads modules here; an image
# that is to do the same needs them. None of them is written into the repository.
go_settings() {
  local name value
  for name in GOPROXY GONOPROXY GOPRIVATE GOSUMDB GONOSUMDB GOINSECURE; do
    value=$(go env "$name")
    [[ -z "$value" ]] || echo "$name=$value"
  done
}

build_golang() {
  local changes=() setting
  bootstrap bookworm ca-certificates,git,make
  trust
  cp -a "$(go env GOROOT)" "$work/root/usr/local/go"
  mkdir -p -m 777 "$work/root/go"
  while read -r setting; do changes+=("ENV ${setting%%=*}=\"${setting#*=}\""); done < <(go_settings)
  import golang "${changes[@]}" 'ENV GOPATH=/go' 'ENV GOTOOLCHAIN=local' 'WORKDIR /go' 'CMD ["bash"]' \
    'ENV PATH=/go/bin:/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
}

build_versitygw() {
  install -d "$work/root/usr/local/bin"
  install -d -m 1777 "$work/root/tmp"
  env -u GOFLAGS CGO_ENABLED=0 GOBIN="$work/root/usr/local/bin" go install -trimpath -ldflags '-s -w' \
    "github.com/versity/versitygw/cmd/versitygw@$versitygw"
  import versitygw 'ENTRYPOINT ["/usr/local/bin/versitygw"]' 'EXPOSE 7070'
}

build_compose() {
  bootstrap sid docker-compose,docker-cli,ca-certificates
  import compose 'ENTRYPOINT ["docker", "compose"]' 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
}

# recipe NAME prints everything that the image depends on and this repository or
# machine decides; its hash is the image's label.
recipe() {
  echo "$1 ${tag[$1]}"
  declare -f "build_$1" bootstrap import database
  case "$1" in
  mysql | mariadb) cat "$here/entrypoint.sh" "$here/my.cnf" ;;
  golang)
    go version
    go_settings
    ;;
  versitygw) go version ;;
  esac
}

for name in "${wanted[@]}"; do
  image=${tag[$name]}
  case "$name" in golang | versitygw) command -v go >/dev/null || die "go is not on PATH, and the image $image is made from it" ;; esac
  hash=$(recipe "$name" | sha256sum | cut -c1-16)
  if [[ -z "$force" ]] && found=$(docker image inspect -f "{{index .Config.Labels \"$label\"}}" "$image" 2>/dev/null); then
    if [[ "$found" == "$hash" ]]; then
      say "$image is up to date"
      continue
    elif [[ -z "$found" ]]; then
      say "$image is there and not of this script: left alone (--force replaces it)"
      continue
    fi
  fi
  started=$SECONDS
  say "building $image: ${holds[$name]}"
  work=$(mktemp -d "${TMPDIR:-/tmp}/cellbench-image.XXXXXX")
  chmod 755 "$work"
  mkdir -p "$work/root"
  "build_$name"
  cleanup
  work=
  say "built $image in $((SECONDS - started)) s, $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB"
done
