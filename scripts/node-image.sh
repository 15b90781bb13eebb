#!/usr/bin/env bash
# Builds bestk/node:20, a base for the Dockerfile where no registry can be reached: bestk/base:bookworm with this machine's
# Node, and at /bestk what of this clone's node_modules a build needs. Nothing to do when it was built from the same already.
set -euo pipefail

base=bestk/base:bookworm
image=bestk/node:20
root=$(cd "$(dirname "$0")/.." && pwd)
node=$(readlink -f "$(command -v node)")

docker image inspect "$base" >/dev/null 2>&1 || "$root/scripts/base-image.sh"
packages=$(sha256sum "$root/node_modules/.package-lock.json" | cut -d' ' -f1)
bundled=$(cd "$root" && node --input-type=module \
  -e "import { BUNDLED } from './scripts/bundle-packages.mjs'; console.log(JSON.stringify(BUNDLED))")
recipe="$(sha256sum "$0" | cut -d' ' -f1)@$(docker image inspect -f '{{.Id}}' "$base")@$packages@$bundled@$(node --version)"
built=$(docker image inspect -f '{{index .Config.Labels "bestk.recipe"}}' "$image" 2>/dev/null || true)
[ "$built" != "$recipe" ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node - "$root" "$bundled" >"$work/packages" <<'SCRIPT'
const root = process.argv[2];
const { packages } = JSON.parse(require('node:fs').readFileSync(`${root}/node_modules/.package-lock.json`, 'utf8'));
// What runs, and what builds: compilers and what they bundle, with all that these need.
const wanted = Object.entries(packages).flatMap(([path, { dev }]) => (dev && !path.includes('/@types/') ? [] : [path]));
const building = ['typescript', 'vite', 'dejavu-fonts-ttf', ...JSON.parse(process.argv[3])];
const waiting = [...wanted, ...building.map((name) => `node_modules/${name}`)];
const kept = new Set();
for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
  if (kept.has(path) || packages[path] === undefined) continue;
  kept.add(path);
  const { dependencies, optionalDependencies } = packages[path];
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) waiting.push(`node_modules/${name}`);
}
// What is nested comes along with what it is nested in.
for (const path of kept) if (path.lastIndexOf('node_modules/') === 0) console.log(`${root}/${path}`.slice(1));
SCRIPT
cat >"$work/Dockerfile" <<DOCKERFILE
FROM $base
COPY node /usr/local/bin/node
COPY node_modules /bestk/node_modules
DOCKERFILE
# As one stream: nothing is copied on this machine. The name is given when all of it was there.
id=$(tar -c --owner=0 --group=0 --transform "s|^${node#/}\$|node|;s|^${root#/}/||" \
  -C "$work" Dockerfile -C / "${node#/}" -T "$work/packages" |
  DOCKER_BUILDKIT=0 docker build -q --network none --label "bestk.recipe=$recipe" -)
docker tag "$id" "$image"
