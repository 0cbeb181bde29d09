# Finds the JDK, Maven and Open MPI of this machine. Sourced by setup.sh; installs nothing.

has() { command -v "$1" >/dev/null 2>&1; }

# Whether Open MPI is to be there; quickstart.sh --no-mpi does without.
wants_mpi=${wants_mpi:-yes}
# The name before each line; quickstart.sh has a name of its own.
said_by=setup
said=
setup_began=$SECONDS
# Where the output of commands goes that nobody needs to read unless one fails.
quiet_log="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." >/dev/null && pwd)/target/setup.log"
# Seconds between two signs of life during a long step.
if [[ -t 2 ]]; then beat=1; else beat=15; fi

say() {
    said=$*
    printf '%s: [%d s] %s\n' "$said_by" $((SECONDS - setup_began)) "$said" >&2
}

fail() {
    say "$@"
    exit 1
}

# A log that root begins belongs to the owner of the checkout, who builds there later.
begin_quiet_log() {
    local folder=${quiet_log%/*}
    if ! { mkdir -p "$folder" && : >"$quiet_log"; } 2>/dev/null; then
        quiet_log=/dev/null # a checkout that cannot be written
        return
    fi
    if ((EUID == 0)); then chown --reference="${folder%/*}" "$folder" "$quiet_log" 2>/dev/null || true; fi
}

# Runs a command whose output goes into the log. While it runs, the step, its seconds and the last line of the output are
# shown; if it fails, the last lines are, with the name of the log.
quietly() {
    local first watcher status=0
    [[ -e $quiet_log ]] || begin_quiet_log
    first=$(($(wc -l <"$quiet_log") + 1))
    show_signs_of_life &
    watcher=$!
    "$@" >>"$quiet_log" 2>&1 </dev/null || status=$?
    { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
    if ((status != 0)); then
        tail -n "+$first" "$quiet_log" | tail -n 40 >&2
        printf '%s: %s has failed with exit code %d; all of its output is in %s\n' \
            "$said_by" "$1" "$status" "$quiet_log" >&2
    fi
    return "$status"
}

show_signs_of_life() {
    local began=$SECONDS line
    # shellcheck disable=SC2217 # the sleep keeps nobody waiting for the end of standard input
    while sleep "$beat" </dev/null >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do # $$ is the script, which a signal may have ended
        line=$(tail -n 1 "$quiet_log" | tr -cd '[:print:]' | sed -E 's:(Download[a-z]+) [^(]*/([^/ ]+):\1 \2:')
        line="$said_by: ${said%% (*}, $((SECONDS - began)) s: $line"
        if [[ -t 2 ]]; then printf '\r\033[K%.79s' "$line"; else printf '%.120s\n' "$line"; fi >&2
    done
}

# The release file is read because starting a JVM to ask it costs more than all the rest of a second set-up.
jdk_version() { sed -n 's/^JAVA_VERSION="\(.*\)"$/\1/p' "$1/release" 2>/dev/null || true; }

# is_jdk HOME LEAST
is_jdk() {
    local version
    [[ -n $1 && -x $1/bin/javac ]] || return 1
    version=$(jdk_version "$1")
    version=${version%%[!0-9]*}
    ((${version:-0} >= $2))
}

# The first JDK of at least this version: JAVA_HOME, the one on PATH, any other.
jdk_home() {
    local home javac
    javac=$(readlink -f "$(command -v javac)" 2>/dev/null || true)
    for home in "${JAVA_HOME:-}" "${javac%/bin/javac}" /usr/lib/jvm/*; do
        if is_jdk "$home" "$1"; then
            printf '%s\n' "$home"
            return
        fi
    done
    return 1
}

use_jdk() {
    JAVA_HOME=$(jdk_home 17) || fail "found no JDK 17 or newer; set JAVA_HOME to one"
    export JAVA_HOME PATH="$JAVA_HOME/bin:$PATH"
}

# Debian names the jar maven-core-3.x.jar and knows the version itself.
maven_version() {
    local home jar
    home=$(dirname "$(dirname "$(readlink -f "$(command -v mvn)")")")
    jar=$(basename "$home"/lib/maven-core-*.jar .jar)
    case $jar in
        *.x) dpkg-query -W -f '${source:Upstream-Version}' maven ;;
        *) printf '%s' "${jar#maven-core-}" ;;
    esac
}

# Leaves wants_mpi=foreign where mpirun belongs to an MPI without Java bindings, which a newer Java calls all the same.
use_mpi() {
    if [[ -n ${HVD_OPENMPI_HOME:-} ]]; then
        [[ -x $HVD_OPENMPI_HOME/bin/mpirun ]] || fail "HVD_OPENMPI_HOME=$HVD_OPENMPI_HOME has no bin/mpirun"
        HVD_OPENMPI_HOME=$(readlink -f "$HVD_OPENMPI_HOME")
        export HVD_OPENMPI_HOME PATH="$HVD_OPENMPI_HOME/bin:$PATH"
    fi
    if [[ -n $(openmpi_version) ]]; then return; fi
    [[ -n $(hydra_version) ]] \
        || fail "$(command -v mpirun) is not of an MPI that hvd knows; set HVD_OPENMPI_HOME to the prefix of an Open MPI"
    JAVA_HOME=$(jdk_home 22) || fail "$(command -v mpirun) is $(hydra_version), which hvd calls by foreign functions;" \
        "found no JDK 22 or newer, so set JAVA_HOME to one, or HVD_OPENMPI_HOME to the prefix of an Open MPI"
    export JAVA_HOME PATH="$JAVA_HOME/bin:$PATH"
    wants_mpi=foreign
}

openmpi_prefix() {
    printf '%s\n' "${HVD_OPENMPI_HOME:-$(dirname "$(dirname "$(readlink -f "$(command -v mpirun)")")")}"
}

openmpi_version() { mpirun --version 2>/dev/null | sed -n 's/.*(Open MPI) \([^ ]*\).*/\1/p'; }

# MPICH's, and Intel's that is made of it; empty for another mpirun.
hydra_version() {
    mpirun --version 2>/dev/null | sed -n -e '/HYDRA build details/{n;s/.*Version: *\([^ ]*\).*/MPICH \1/p;}' \
        -e 's/.*Intel(R) MPI Library.*Version \([^ ]*\).*/Intel MPI \1/p'
}

# Both print nothing where there is no such file. Debian keeps libraries in lib/TRIPLET and lib/TRIPLET/openmpi/lib.
openmpi_mpi_jar() { first_file "$1"/{lib,lib64,lib/*/openmpi/lib,lib/*}/mpi.jar; }

openmpi_java_library() { first_file "$1"/{lib,lib64,lib/*/openmpi/lib,lib/*}/libmpi_java.so*; }

first_file() {
    local file
    for file; do
        if [[ -f $file ]]; then
            printf '%s\n' "$file"
            return
        fi
    done
}
