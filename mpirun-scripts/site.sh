#!/usr/bin/env bash
# Makes a web site of the README and the pages in docs, with navigation and search, in target/site/html. MkDocs does it,
# which Debian and Ubuntu have as a package; as root or with sudo it is installed if it is missing. A link that leads
# nowhere fails the build.
set -euo pipefail

scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" >/dev/null && pwd)"
root=$(dirname "$scripts")
# shellcheck source=mpirun-scripts/setup/tools.sh
. "$scripts/setup/tools.sh"
# shellcheck source=mpirun-scripts/setup/packages.sh
. "$scripts/setup/packages.sh"

has mkdocs || ! can_install || install_packages mkdocs
has mkdocs || fail "there is no mkdocs: ask for apt-get install mkdocs"

site=$root/target/site
rm -rf "$site"
mkdir -p "$site/pages"
cp "$scripts/site/mkdocs.yml" "$site"
cp "$scripts/site/site.css" "$site/pages"
cp "$root"/{README,CONTRIBUTING,CHANGELOG}.md "$root/LICENSE" "$site/pages"
cp -r "$root/docs" "$site/pages"
rm -rf "$site"/pages/docs/*/target
mkdir "$site/pages/mpirun-scripts" # files that pages show a link to
cp -r "$scripts"/{k8s,slurm} "$site/pages/mpirun-scripts"
mkdocs build --strict --config-file "$site/mkdocs.yml"
echo "$site/html/index.html"
