# Which jars belong to train.jar. Sourced by bundle.sh, which has chosen a JDK.
# shellcheck shell=bash

# Prints the jars that java takes for a jar, one per line: those of its Class-Path, and mpi.jar, which hvd finds beside its
# own. The folder may also have jars of an earlier build, such as those of another version, which are not among them.
jars_of() (
    jar=$1
    folder=$(dirname "$jar")
    unpacked=$(mktemp -d)
    trap 'rm -rf "$unpacked"' EXIT
    (cd "$unpacked" && "$JAVA_HOME/bin/jar" xf "$(readlink -f "$jar")" META-INF/MANIFEST.MF)
    # A line of a manifest goes on in the next one behind a blank.
    tr -d '\r' <"$unpacked/META-INF/MANIFEST.MF" | sed -e ':join' -e '$!N' -e 's/\n //' -e 'tjoin' -e 'P' -e 'D' \
        | sed -n 's/^Class-Path: //p' | tr ' ' '\n' >"$unpacked/names"
    if [[ ! -s $unpacked/names ]]; then
        fail "$jar names no jars in its manifest; build it again by mvn -DskipTests package"
    fi
    while read -r name; do
        [[ -f $folder/$name ]] || fail "$jar needs $name, which is not in $folder; build it again by mvn -DskipTests package"
        printf '%s\n' "$folder/$name"
    done <"$unpacked/names"
    find "$folder/lib" -name 'mpi-java-*.jar'
)
