# What the scripts bench-*.sh share: finds Java, mpirun and bench.jar, then runs it. Sourced; installs and builds nothing.

bench_scripts="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." >/dev/null && pwd)"
# shellcheck source=mpirun-scripts/setup/tools.sh
. "$bench_scripts/setup/tools.sh"

bench_fail() {
    printf 'bench: %s\n' "$*" >&2
    exit 2
}

# bench NAME [flags]: one benchmark of bench.jar, with the JDK that built it and the Open MPI that hvd would take.
bench() {
    local jar
    jar=$(dirname "$bench_scripts")/hvd-examples/benchmarks/target/bench.jar
    [[ -f $jar ]] || bench_fail "nothing is built yet: run mvn -DskipTests package in $(dirname "$bench_scripts") first"
    use_jdk
    has mpirun || [[ -n ${HVD_OPENMPI_HOME:-} ]] || bench_fail "there is no mpirun; mpirun-scripts/setup.sh installs it"
    use_mpi
    exec java -Djava.awt.headless=true -jar "$jar" "$@"
}
