package io.hvd.config;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.ToIntFunction;

/**
 * The start of this process as the variables of launchers tell it.
 *
 * @param rank this process's number among those that a launcher has started; empty without one, -1 if it cannot be read
 * @param size the number of processes that it has started; empty without one, or if it does not say
 * @param ofMpi whether MPI can connect them, as far as the variables tell
 * @param place how they meet without MPI; empty if they cannot
 * @param coordinator where an elastic job's coordinator is; empty in other jobs
 * @param slurm what Slurm says; empty outside its jobs
 * @param foreign why a process must not go on alone that neither MPI nor a place connects to others
 * @param declared how large the job is to be
 */
public record LauncherFacts(
        OptionalInt rank,
        OptionalInt size,
        boolean ofMpi,
        Optional<RankPlace> place,
        Optional<RankPlace.AtCoordinator> coordinator,
        Optional<SlurmPlace> slurm,
        Optional<String> foreign,
        List<DeclaredJob> declared) {

    /** Set by mpirun (both Open MPI 4 and 5), by srun with PMIx, and by other PMI launchers. */
    private static final List<String> RANK_VARIABLES = List.of("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK");

    private static final List<String> SIZE_VARIABLES = List.of("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");

    public LauncherFacts {
        declared = List.copyOf(declared);
    }

    static LauncherFacts of(Map<String, String> environment) {
        Optional<SlurmPlace> slurm = SlurmPlace.of(environment);
        OptionalInt rank = rank(environment);
        Optional<RankPlace> place = RankPlace.of(environment, slurm);
        Optional<RankPlace> withOthers =
                place.filter(one -> one.size() > 1 && one.meeting().isPresent());
        return new LauncherFacts(
                rank.isPresent() ? rank : number(withOthers, RankPlace::rank),
                rank.isPresent() ? size(environment, slurm) : number(withOthers, RankPlace::size),
                rank.isPresent(),
                place,
                RankPlace.coordinator(environment, place),
                slurm,
                ForeignLauncher.whyNotAlone(environment)
                        .or(() -> place.isEmpty() ? RankPlace.whyNotAlone(environment) : Optional.empty()),
                DeclaredJob.of(environment));
    }

    private static OptionalInt number(Optional<RankPlace> place, ToIntFunction<RankPlace> number) {
        return place.stream().mapToInt(number).findFirst();
    }

    /**
     * Of the variables of a process those that no launcher has set: a rank that something else has started in this process is
     * none of a launcher's, whatever has started the process.
     */
    public static Map<String, String> withoutLaunchers(Map<String, String> environment) {
        Map<String, String> others = new HashMap<>(environment);
        others.keySet().removeIf(name -> !OtherVariables.isOurs(name) || OtherVariables.isLaunchers(name));
        return others;
    }

    /** This process's number among those of a launcher of MPI's, whatever the other variables are. */
    public static OptionalInt rank(Map<String, String> environment) {
        return RANK_VARIABLES.stream()
                .filter(environment::containsKey)
                .mapToInt(name -> number(environment.get(name)))
                .findFirst();
    }

    private static OptionalInt size(Map<String, String> environment, Optional<SlurmPlace> slurm) {
        OptionalInt told = SIZE_VARIABLES.stream()
                .filter(environment::containsKey)
                .mapToInt(name -> number(environment.get(name)))
                .filter(size -> size > 0)
                .findFirst();
        return told.isPresent() ? told : slurm.map(SlurmPlace::tasks).orElse(OptionalInt.empty());
    }

    private static int number(String text) {
        try {
            return Numerals.wholeInt(text.trim());
        } catch (NumberFormatException e) {
            return -1;
        }
    }

    /** Whether mpirun, srun, torchrun or the like has started this process as a rank. */
    public boolean byLauncher() {
        return rank.isPresent();
    }

    /** Whether it has, as far as is known, started others beside this one. */
    public boolean withOthers() {
        return byLauncher() && size.orElse(Integer.MAX_VALUE) > 1;
    }

    /** Whether the processes can meet without MPI. */
    public boolean meets() {
        return place.flatMap(RankPlace::meeting).isPresent();
    }

    /**
     * Why this process must not go on as a job of its own; empty if it may, or need not since a launcher is there.
     *
     * @param overMpi whether the ranks are to find each other by MPI
     */
    public Optional<String> whyNotAlone(boolean overMpi) {
        return (overMpi ? ofMpi : byLauncher())
                ? Optional.empty()
                : slurm.flatMap(SlurmPlace::whyNotAlone).or(() -> foreign);
    }

    /** As in {@link HvdConfig#whyOtherJob}. */
    Optional<String> whyOtherJob(int process, int processes, List<Integer> nodes, List<String> hosts) {
        int count = (int) nodes.stream().distinct().count();
        List<String> names = hosts.stream().distinct().toList();
        // Within a task of Slurm's there may be a launcher of its own, such as torchrun, whose job this is.
        boolean anotherLaunchers = processes > 1
                && place.filter(one -> one.rank() == process && one.size() == processes)
                        .isPresent();
        Optional<String> otherThanSlurms = byLauncher() && !anotherLaunchers
                ? slurm.flatMap(step -> step.whyOtherJob(process, processes))
                : Optional.empty();
        return otherThanSlurms.or(() -> declared.stream()
                .flatMap(one -> one.whySmaller(processes, count, names).stream())
                .findFirst());
    }
}
