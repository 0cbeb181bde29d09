#!/usr/bin/env bash
# Makes a web site of the README, the pages in docs and the Javadoc of hvd-core and hvd-optimizer, with navigation and
# search, in target/site/html; all that a browser loads lies in that folder. MkDocs does it, which Debian has
# as a package; as root or with sudo it is installed if it is missing. A link that leads nowhere fails the build.
#
#   site.sh [--no-javadoc]
#   --no-javadoc  without the Javadoc, which takes half a minute
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
# files of the repository that pages show a link to
grep -rhoE '\]\((\.\./)*(hvd-|mpirun-scripts/)[^)#]+' "$root"/*.md "$root/docs" --include='*.md' \
    | sed -E 's#^\]\((\.\./)*##' | sort -u \
    | while read -r file; do (cd "$root" && cp -r --parents "$file" "$site/pages"); done

# The Javadoc of hvd-optimizer names that of hvd-core at its public address; here it lies beside it.
add_javadoc() {
    mvn -B -f "$root/pom.xml" -q -Prelease -DskipTests -pl hvd-core,hvd-optimizer -am package
    local module page up
    mkdir "$site/pages/api"
    for module in hvd-core hvd-optimizer; do
        cp -r "$root/$module/target/reports/apidocs" "$site/pages/api/$module"
        rm -f "$site/pages/api/$module"/legal/*.md # MkDocs would make pages of them
    done
    (cd "$site/pages/api/hvd-optimizer" && find . -name '*.html' -print) | while read -r page; do
        up=$(dirname "$page" | sed -E 's#[^/]+#..#g')
        sed -i -E "s#https://javadoc.io/doc/io.hvd/hvd-core/[^/]*/#$up/hvd-core/#g" "$site/pages/api/hvd-optimizer/$page"
    done
    cp "$scripts/site/javadoc.md" "$site/pages"
}

if [[ ${1:-} == --no-javadoc ]]; then
    sed -i '/: javadoc.md$/d' "$site/mkdocs.yml"
else
    add_javadoc
fi
mkdocs build --strict --config-file "$site/mkdocs.yml"
# Debian's package has one of the theme's scripts under another name, and one not at all.
scripts_of_theme=$site/html/js
asked=$(grep -om1 'jquery-[^"]*' "$site/html/index.html")
[[ -e $scripts_of_theme/$asked ]] || cp "$scripts_of_theme"/jquery-*.js "$scripts_of_theme/$asked"
[[ -e $scripts_of_theme/theme_extra.js ]] || cp "$scripts/site/theme_extra.js" "$scripts_of_theme"
echo "$site/html/index.html"
