package io.hvd.config;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The size of the job as its launcher has announced it: a job that comes out smaller must not train as if nothing were
 * amiss. horovodrun tells its ranks by {@code HVD_DECLARED_JOB}, which is the number of processes, the fewest hosts that
 * they can be on, and who has named these; mpirun tells its own by the variables for a process's number.
 *
 * @param processes 0 if nothing is said of them
 * @param hosts 0 if nothing is said of them
 * @param source who has declared it, for a message
 */
record DeclaredJob(int processes, int hosts, String source) {
    private static final Pattern TEXT = Pattern.compile("(\\d{1,9}) (\\d{1,9}) (.+)");

    /** The sizes that horovodrun and mpirun have declared; either may be smaller. */
    static List<DeclaredJob> of(Map<String, String> environment) {
        return Stream.concat(
                        ofHorovodrun(environment).stream(),
                        Stream.of("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
                                .filter(environment::containsKey)
                                .flatMap(name -> ofMpirun(name, environment).stream()))
                .toList();
    }

    private static Optional<DeclaredJob> ofHorovodrun(Map<String, String> environment) {
        Matcher parts = TEXT.matcher(environment.getOrDefault(Setting.DECLARED_JOB.variable(), ""));
        return parts.matches()
                ? Optional.of(new DeclaredJob(
                        Integer.parseInt(parts.group(1)), Integer.parseInt(parts.group(2)), parts.group(3)))
                : Optional.empty();
    }

    private static Optional<DeclaredJob> ofMpirun(String name, Map<String, String> environment) {
        String value = environment.get(name).strip();
        return value.matches("\\d{1,9}")
                ? Optional.of(new DeclaredJob(Integer.parseInt(value), 0, name + "=" + value))
                : Optional.empty();
    }

    /**
     * Why the job that MPI has made is smaller than this; empty if it is not.
     *
     * @param here how many processes there are
     * @param hostNames the names of the hosts that they are on, each once
     */
    Optional<String> whySmaller(int here, int hostCount, List<String> hostNames) {
        if (here < processes) {
            return Optional.of(
                    source + ": " + processes + " processes were to be started, but this job has only " + here
                            + ", on " + String.join(", ", hostNames) + ": " + missing(here)
                            + ", or each rank would train by itself. The"
                            + " launcher that has started it must be of the same MPI as the library that hvd calls, which"
                            + " HVD_MPI_LIBRARY, HVD_OPENMPI_HOME or PATH names");
        }
        if (hostCount < hosts) {
            return Optional.of(source + ": the ranks were to be on " + hosts + " hosts at least, but all " + here
                    + " of them are on " + String.join(", ", hostNames)
                    + ". The launcher takes no notice of where these hosts are named, or some of the names mean one"
                    + " host; name the hosts by -H or --hostfile of " + HvdProgram.HOROVODRUN.eitherWay());
        }
        return Optional.empty();
    }

    private String missing(int here) {
        return here == processes - 1
                ? "rank " + here + " is missing"
                : "ranks " + here + " to " + (processes - 1) + " are missing";
    }
}
