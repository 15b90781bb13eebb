#!/usr/bin/env bash
# Builds bestk/postgres:15 from Debian's packages, a stand-in for the official image where no registry can be reached: for
# tests, never for data. It takes POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB and PGDATA as that one does, keeps its data at the
# same place, and has pg_isready. Nothing to do when this recipe built it already.
set -euo pipefail

image=bestk/postgres:15
bin=/usr/lib/postgresql/15/bin
recipe=$(sha256sum "$0" | cut -d' ' -f1)
built=$(docker image inspect -f '{{index .Config.Labels "bestk.recipe"}}' "$image" 2>/dev/null || true)
[ "$built" != "$recipe" ] || exit 0

if ! command -v mmdebstrap >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "postgres-image: mmdebstrap is missing: install it, or run this as root on Debian" >&2
    exit 3
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap debian-archive-keyring >/dev/null
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/entrypoint" <<'SCRIPT'
#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  password=$(mktemp)
  printf '%s' "${POSTGRES_PASSWORD:?is needed}" >"$password"
  initdb -D "$PGDATA" -U "${POSTGRES_USER:=postgres}" --pwfile="$password" --auth-local=trust --auth-host=scram-sha-256 -E UTF8 >/dev/null
  rm "$password"
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  if [ "${POSTGRES_DB:=$POSTGRES_USER}" != postgres ]; then
    echo "create database \"$POSTGRES_DB\"" | postgres --single -j -D "$PGDATA" postgres >/dev/null
  fi
fi
exec postgres -D "$PGDATA" -c listen_addresses='*'
SCRIPT
chmod 755 "$work/entrypoint"
mmdebstrap --quiet --variant=minbase --include=postgresql-15 --dpkgopt='path-exclude=/usr/share/doc/*' \
  --customize-hook='rm -rf "$1/var/lib/postgresql" "$1/etc/postgresql/15"' \
  --customize-hook='install -d -m 700 "$1/var/lib/postgresql/data"' \
  --customize-hook='chroot "$1" chown -R postgres:postgres /var/lib/postgresql' \
  --customize-hook="copy-in $work/entrypoint /usr/local/bin" bookworm "$work/root.tar"
cat >"$work/Dockerfile" <<DOCKERFILE
FROM scratch
ADD root.tar /
RUN install -d -m 2775 -o postgres -g postgres /run/postgresql
ENV PATH=$bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/data LANG=C.UTF-8
USER postgres
VOLUME /var/lib/postgresql/data
# A smart shutdown, what SIGTERM asks for, waits for its clients.
STOPSIGNAL SIGINT
EXPOSE 5432
ENTRYPOINT ["entrypoint"]
DOCKERFILE
DOCKER_BUILDKIT=0 docker build -q --network none --label "bestk.recipe=$recipe" --label 'bestk.stand-in=postgres, for tests' -t "$image" "$work" >/dev/null
