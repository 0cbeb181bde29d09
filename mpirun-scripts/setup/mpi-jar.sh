# Puts mpi.jar, Open MPI's Java bindings, into the local Maven repository as org.open-mpi:mpi-java, twice: under the
# version of the Open MPI in use, which the run time looks for, and as "installed", which the build compiles against.
# It must be of exactly the library's version: the library looks up fields of its classes that come and go. Sourced by setup.sh.

# A subshell, so that the temporary folder goes whatever happens.
install_mpi_jar() (
    prefix=$1 version=$2
    repository=$(local_repository)/org/open-mpi/mpi-java
    present=$repository/$version/mpi-java-$version.jar
    if cmp -s "$present" "$repository/installed/mpi-java-installed.jar"; then return; fi
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cd "$work" || exit
    if [[ -f $present ]]; then cp "$present" "$work/mpi.jar"; else make_mpi_jar "$prefix" "$version" "$work"; fi
    install_file "$work/mpi.jar" "$version"
    install_file "$work/mpi.jar" installed
)

# A guess that reads two files instead of starting Maven; a wrong one only makes every set-up install the jar anew.
local_repository() {
    local home configured
    if [[ "${MAVEN_OPTS:-} ${MAVEN_ARGS:-}" =~ -Dmaven\.repo\.local=([^[:space:]]+) ]]; then
        printf '%s\n' "${BASH_REMATCH[1]}"
        return
    fi
    home=$(getent passwd "$(id -u)" | cut -d: -f6) # Java's user.home, which $HOME does not change
    configured=$(sed -n 's:.*<localRepository>\(.*\)</localRepository>.*:\1:p' "$home/.m2/settings.xml" 2>/dev/null) || true
    configured=${configured//\$\{user.home\}/$home}
    if [[ -d $configured ]]; then printf '%s\n' "$configured"; else printf '%s\n' "$home/.m2/repository"; fi
}

# make_mpi_jar PREFIX VERSION FOLDER: leaves FOLDER/mpi.jar, Open MPI's own or one compiled from its source package.
make_mpi_jar() {
    local bundled library
    bundled=$(openmpi_mpi_jar "$1")
    library=$(openmpi_java_library "$1")
    [[ -n $library ]] || fail "the Open MPI in $1 has no libmpi_java.so: build it with --enable-mpi-java," \
        "or set HVD_OPENMPI_HOME to one that has it"
    printf 'Implementation-Title: Open MPI Java bindings\nImplementation-Version: %s\n' "$2" >"$3/manifest"
    if [[ -n $bundled ]]; then
        cp "$bundled" "$3/mpi.jar"
        jar ufm "$3/mpi.jar" "$3/manifest"
    else
        compile_mpi_jar "$(readlink -f "$library")" "$3"
    fi
}

compile_mpi_jar() {
    local package
    package=$(owner_of "$1")
    [[ -n $package ]] || fail "found no mpi.jar for $1 and no package owns it;" \
        "set HVD_OPENMPI_HOME to an Open MPI that has its mpi.jar"
    say "compiling mpi.jar from the source package of $package"
    fetch_source "$package" "$2"
    mkdir "$2/java" "$2/classes"
    find "$2/source" -name '*.orig.tar.*' ! -name '*.asc' \
        -exec tar -C "$2/java" -xf {} --wildcards '*/ompi/mpi/java/java/*.java' \;
    quietly find "$2/java" -name '*.java' \
        -exec javac --release 17 -encoding UTF-8 -nowarn -d "$2/classes" {} +
    jar cfm "$2/mpi.jar" "$2/manifest" -C "$2/classes" mpi
}

# With the install plugin that the build uses, so that its version stands in the POM alone.
install_file() {
    local pom plugin
    pom=$(dirname "${BASH_SOURCE[0]}")/../../pom.xml
    plugin=$(sed -n 's:.*<install-plugin.version>\(.*\)</install-plugin.version>.*:\1:p' "$pom")
    quietly mvn -B "org.apache.maven.plugins:maven-install-plugin:$plugin:install-file" \
        -DgroupId=org.open-mpi -DartifactId=mpi-java -Dpackaging=jar -Dfile="$1" -Dversion="$2"
}
