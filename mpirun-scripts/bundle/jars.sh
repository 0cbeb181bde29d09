# Which jars belong to train.jar. Sourced by bundle.sh, which has chosen a JDK.
# shellcheck shell=bash

# Prints the names in a jar's Class-Path, one per line.
class_path_of() (
    unpacked=$(mktemp -d)
    trap 'rm -rf "$unpacked"' EXIT
    (cd "$unpacked" && "${JAVA_HOME:+$JAVA_HOME/bin/}jar" xf "$(readlink -f "$1")" META-INF/MANIFEST.MF)
    # A line of a manifest goes on in the next one behind a blank.
    tr -d '\r' <"$unpacked/META-INF/MANIFEST.MF" | sed -e ':join' -e '$!N' -e 's/\n //' -e 'tjoin' -e 'P' -e 'D' \
        | sed -n 's/^Class-Path: //p' | tr ' ' '\n'
)

# Prints the jars that java takes for a jar, one per line: those of its Class-Path, and mpi.jar, which hvd finds beside its
# own. The folder may also have jars of an earlier build, such as those of another version, which are not among them.
jars_of() {
    local jar=$1 folder names name
    folder=$(dirname "$jar")
    names=$(class_path_of "$jar")
    if [[ -z $names ]]; then
        fail "$jar names no jars in its manifest; build it again by mvn -DskipTests package"
    fi
    while read -r name; do
        [[ -f $folder/$name ]] || fail "$jar needs $name, which is not in $folder; build it again by mvn -DskipTests package"
        printf '%s\n' "$folder/$name"
    done <<<"$names"
    find "$folder/lib" -name 'mpi-java-*.jar'
}
