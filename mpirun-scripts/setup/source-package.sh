# Fetches the source package of an installed Debian package without root and without touching the machine's apt
# configuration: apt is given a folder of its own, with the machine's package sources turned into deb-src. Sourced by setup.sh.

# owner_of FILE: the installed package that FILE came with; nothing if it came otherwise.
owner_of() { dpkg-query -S "$1" 2>/dev/null | sed 's/: .*//' || true; }

# fetch_source PACKAGE FOLDER: downloads the source of exactly the installed version of PACKAGE into FOLDER/source.
fetch_source() {
    local source
    source=$(dpkg-query -W -f '${source:Package}=${source:Version}' "$1")
    write_source_entries "$2/entries"
    mkdir -p "$2/lists/partial" "$2/cache/archives/partial" "$2/source"
    # A package source that cannot be reached matters only if it is the one that has the package.
    quietly apt_below "$2" update || true
    (cd "$2/source" && quietly apt_below "$2" source --download-only --only-source "$source") \
        || fail "apt has no source package $source; if the archive has a newer $1, upgrade it and try again"
}

# Both formats of sources.list(5); a deb822 stanza keeps its Signed-By, a one-line entry its options.
write_source_entries() {
    local file
    mkdir -p "$1"
    for file in /etc/apt/sources.list.d/*.sources; do
        [[ ! -r $file ]] || sed -E 's/^Types:.*/Types: deb-src/I' "$file" >"$1/${file##*/}"
    done
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null \
        | sed -nE '/cdrom:/d; s/^[[:space:]]*deb(-src)?([[:space:]])/deb-src\2/p' | sort -u >"$1/one-line.list" || true
}

apt_below() {
    local folder=$1
    shift
    # The caller's own user downloads: apt's unprivileged one may not enter a private folder.
    apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/entries" \
        -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none -o Acquire::http::Timeout=20 "$@"
}
