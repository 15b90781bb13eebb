#!/usr/bin/env bash
# Builds bestk/base:bookworm: Debian 12 with python3, pytest and git. Nothing to do when this recipe built it already.
# From debian:bookworm-slim where a registry can be reached, else from Debian's packages alone (mmdebstrap).
set -euo pipefail

image=bestk/base:bookworm
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
packages=(python3 python3-pytest git ca-certificates)
recipe=$(sha256sum "$0" | cut -d' ' -f1)

label() { docker image inspect -f '{{index .Config.Labels "bestk.recipe"}}' "$1" 2>/dev/null || true; }
[ "$(label "$image")" != "$recipe" ] || exit 0

from_registry() {
  docker image inspect debian:bookworm-slim >/dev/null 2>&1 ||
    timeout -k 2 20 docker pull -q debian:bookworm-slim >/dev/null 2>&1 || return 1
  printf 'FROM debian:bookworm-slim\nENV LANG=C.UTF-8\nRUN apt-get update -qq && apt-get install -y -qq --no-install-recommends %s && rm -rf /var/lib/apt/lists/*\n' "${packages[*]}" |
    DOCKER_BUILDKIT=0 docker build -q --network host --label "bestk.recipe=$recipe" -t "$image" - >/dev/null
}

from_packages() {
  if ! command -v mmdebstrap >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
      echo "base-image: no registry answers, and mmdebstrap is missing: install it, or run this as root on Debian" >&2
      return 3
    fi
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap debian-archive-keyring >/dev/null
  fi
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  (IFS=,; mmdebstrap --quiet --variant=minbase --include="${packages[*]}" bookworm "$work/root.tar")
  docker import --change "LABEL bestk.recipe=$recipe" --change "ENV PATH=$path LANG=C.UTF-8" --change 'CMD ["bash"]' \
    "$work/root.tar" "$image" >/dev/null
}

from_registry || from_packages
