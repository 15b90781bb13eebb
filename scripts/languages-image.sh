#!/usr/bin/env bash
# Builds bestk/languages:1 from Debian's packages: compilers and test runners of Go, Java, Rust, C and Ruby, and an empty
# repository at /testbed, for the tests that run generated tests of these languages. Nothing to do when this recipe built it.
set -euo pipefail

image=bestk/languages:1
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
packages=(git ca-certificates golang-go openjdk-17-jdk-headless junit4 cargo gcc libc6-dev make cmake ruby-rspec)
recipe=$(sha256sum "$0" | cut -d' ' -f1)
built=$(docker image inspect -f '{{index .Config.Labels "bestk.recipe"}}' "$image" 2>/dev/null || true)
[ "$built" != "$recipe" ] || exit 0

if ! command -v mmdebstrap >/dev/null; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "languages-image: mmdebstrap is missing: install it, or run this as root on Debian" >&2
    exit 3
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap debian-archive-keyring >/dev/null
fi

# What no test needs: documentation, the JDK's modules for linking, Go's own tests and tools as libraries and sources.
unneeded=(
  '/usr/share/doc/*' '/usr/share/man/*' '/usr/share/locale/*' '/usr/share/info/*'
  '/usr/lib/jvm/*/jmods/*' '/usr/share/go-*/test/*' '/usr/share/go-*/src/*_test.go' '/usr/lib/go-*/pkg/*/cmd/*'
  '/usr/share/go-*/src/cmd/*' '/usr/share/go-*/api/*' '/usr/lib/x86_64-linux-gnu/lib?san.*'
)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(
  IFS=,
  mmdebstrap --quiet --variant=minbase --include="${packages[*]}" "${unneeded[@]/#/--dpkgopt=path-exclude=}" \
    --essential-hook='mkdir -p "$1/usr/share/man/man1"' --customize-hook='chroot "$1" git init -q -b main /testbed' \
    --customize-hook='chroot "$1" git -C /testbed -c user.name=Fixture -c user.email=fixture@localhost commit -q --allow-empty -m empty' \
    bookworm "$work/root.tar"
)
docker import --change "LABEL bestk.recipe=$recipe" --change "ENV PATH=$path LANG=C.UTF-8" --change 'WORKDIR /testbed' \
  --change 'CMD ["bash"]' "$work/root.tar" "$image" >/dev/null
