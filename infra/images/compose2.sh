#!/bin/sh
# Runs docker compose 2 from the image cellbench-compose:2, for machines that have
# only compose 1. The Docker socket and the working directory are mounted under
# their own names, so that bind mounts mean the same on both sides.
#
#   infra/images/compose2.sh up --build --exit-code-from task
set -eu
dir=$(pwd -P)
env=$(mktemp)
trap 'rm -f "$env"' EXIT
env | grep -E '^(BENCH_|AWS_|MYSQL_|COMPOSE_|DOCKER_|CELLBENCH_|VERSION=)' >"$env" || true
docker run --rm -i -v /var/run/docker.sock:/var/run/docker.sock -v "$dir:$dir" -w "$dir" \
	--env-file "$env" cellbench-compose:2 "$@"
