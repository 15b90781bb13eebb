#!/bin/sh
# Builds bestk/fixture:1, the image the sandbox tests run in: bestk/base:bookworm with a small repository at /testbed.
# Nothing to do when this recipe built it already on the same base.
set -eu

base=bestk/base:bookworm
fixture=bestk/fixture:1

docker image inspect "$base" >/dev/null 2>&1 || "$(dirname "$0")/base-image.sh"
recipe="$(sha256sum "$0" | cut -d' ' -f1)@$(docker image inspect -f '{{.Id}}' "$base")"
built=$(docker image inspect -f '{{index .Config.Labels "bestk.recipe"}}' "$fixture" 2>/dev/null || true)
[ "$built" != "$recipe" ] || exit 0

# The repository has everything a careless image leaks: a future, a tag, a remote, a stash, a reflog, an unreachable commit.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/build.sh" <<'SCRIPT'
set -eu
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
mkdir /testbed
cd /testbed
git init -q -b main .
git config user.name Fixture
git config user.email fixture@localhost
printf 'build/\n*.log\n' >.gitignore
printf 'def add(a, b):\n    return a - b\n' >calc.py
mkdir tests
printf 'from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n' >tests/test_calc.py
git add -A
git commit -qm 'a calculator'
printf 'tracked although ignored\n' >kept.log
git add -f kept.log
git commit -qm 'keep a log'
git tag base
printf 'def add(a, b):\n    return a + b  # SECRET-FIX\n' >calc.py
git commit -qam 'fix addition'
git tag -a v1 -m 'the future'
git reset -q --hard base
printf 'unreachable SECRET-LOST\n' >lost.txt
git add lost.txt
git commit -qm 'lost work'
git reset -q --hard base
printf 'stashed SECRET-STASH\n' >calc.py
git stash -q
git remote add origin https://example.invalid/repository.git
git update-ref refs/remotes/origin/main v1
mkdir build
printf 'artefact\n' >build/artefact.bin
SCRIPT
cat >"$work/Dockerfile" <<DOCKERFILE
FROM $base
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/testbed PYTHONDONTWRITEBYTECODE=1
COPY build.sh /build.sh
RUN sh /build.sh && rm /build.sh
WORKDIR /testbed
DOCKERFILE
DOCKER_BUILDKIT=0 docker build -q --network none --label "bestk.recipe=$recipe" -t "$fixture" "$work" >/dev/null
