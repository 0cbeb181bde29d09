package io.hvd.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A setting of Open MPI: values of its own parameters.
 *
 * @param name the name of the setting, and of the algorithm that it chooses for allreduce
 * @param arguments the arguments of mpirun
 * @param others the names of the algorithms that it chooses for other collectives, if they differ from {@code name}
 * @param component the component for collectives that it raises above all others, if any; without that component Open
 *     MPI would say nothing and use what it uses by default
 */
record MpiSetting(String name, List<String> arguments, Map<Collective, String> others, Optional<String> component) {
    /** More than any component gives itself, so that it stands above han too, which Open MPI 5 prefers between hosts. */
    private static final String HIGHEST_PRIORITY = "100";

    private static final List<String> UCX =
            arguments(List.of("pml", "ucx", "pml_ucx_tls", "any", "pml_ucx_devices", "any"));

    /** Where Open MPI is 5 or newer, a framework of its own copies from other processes' memory. */
    private static final List<String> NO_SINGLE_COPY = arguments(List.of(
            "pml", "ob1", "btl", "self,vader", "btl_vader_single_copy_mechanism", "none", "smsc", "^cma,knem,xpmem"));

    static final MpiSetting DEFAULT = new MpiSetting("default", List.of());

    static final MpiSetting SEGMENTED_RING = tuned(allreduce("segmented-ring-256k", 5, 256 << 10));

    /**
     * The components for ranks of one host that Open MPI has had since 6.0 and does not use by default. The others that
     * have an allreduce of their own are tuned, which is the default, and han, which refuses ranks of one host.
     */
    private static final List<MpiSetting> COMPONENTS = List.of(component("xhc"), component("acoll"));

    /** The three settings that were the fastest for some size with Open MPI 4.1, and the newest components. */
    static final List<MpiSetting> FEW = both(List.of(DEFAULT, new MpiSetting("ucx", UCX), SEGMENTED_RING), COMPONENTS);

    /** The settings that an expert would try on one host for every size. */
    static final List<MpiSetting> ALL = both(
            FEW,
            List.of(
                    new MpiSetting("ucx+segmented-ring-256k", both(UCX, SEGMENTED_RING.arguments())),
                    tuned(allreduce("recursive-doubling", 3, 0)),
                    tuned(allreduce("ring", 4, 0)),
                    tuned(allreduce("rabenseifner", 6, 0)),
                    new MpiSetting("ob1-without-cma", NO_SINGLE_COPY)));

    /**
     * The settings over a network, without UCX. Each one but han, which has algorithms of its own, chooses an algorithm for
     * every collective.
     */
    static final List<MpiSetting> NETWORK = List.of(
            DEFAULT,
            tuned(
                    allreduce("segmented-ring-1m", 5, 1 << 20),
                    new TunedAlgorithm(Collective.BROADCAST, "pipeline-128k", 3, 128 << 10),
                    new TunedAlgorithm(Collective.ALLGATHER, "ring", 4, 0),
                    new TunedAlgorithm(Collective.REDUCE_SCATTER, "recursive-halving", 3, 0),
                    new TunedAlgorithm(Collective.ALLTOALL, "pairwise", 2, 0)),
            tuned(
                    allreduce("ring", 4, 0),
                    new TunedAlgorithm(Collective.BROADCAST, "pipeline-1m", 3, 1 << 20),
                    new TunedAlgorithm(Collective.ALLGATHER, "neighbor-exchange", 5, 0),
                    new TunedAlgorithm(Collective.REDUCE_SCATTER, "butterfly", 4, 0),
                    new TunedAlgorithm(Collective.ALLTOALL, "modified-bruck", 3, 0)),
            tuned(
                    allreduce("rabenseifner", 6, 0),
                    new TunedAlgorithm(Collective.BROADCAST, "scatter-allgather-ring", 9, 0),
                    new TunedAlgorithm(Collective.ALLGATHER, "recursive-doubling", 3, 0),
                    new TunedAlgorithm(Collective.REDUCE_SCATTER, "recursive-doubling", 2, 0),
                    new TunedAlgorithm(Collective.ALLTOALL, "linear", 1, 0)),
            component("han"));

    MpiSetting(String name, List<String> arguments) {
        this(name, arguments, Map.of(), Optional.empty());
    }

    /** The name of the algorithm that the setting chooses for a collective. */
    String name(Collective collective) {
        return others.getOrDefault(collective, name);
    }

    /** @param allreduce the algorithm for allreduce, whose name the setting gets */
    private static MpiSetting tuned(TunedAlgorithm allreduce, TunedAlgorithm... others) {
        List<String> parameters =
                new ArrayList<>(List.of("coll_tuned_use_dynamic_rules", "1", "coll_tuned_priority", HIGHEST_PRIORITY));
        parameters.addAll(allreduce.parameters());
        for (TunedAlgorithm other : others) {
            parameters.addAll(other.parameters());
        }
        return new MpiSetting(
                allreduce.name(),
                arguments(parameters),
                Arrays.stream(others).collect(Collectors.toMap(TunedAlgorithm::collective, TunedAlgorithm::name)),
                Optional.empty());
    }

    /** A setting that raises a component for collectives above all others. */
    private static MpiSetting component(String name) {
        List<String> raised = arguments(List.of("coll_" + name + "_priority", HIGHEST_PRIORITY));
        return new MpiSetting(name, raised, Map.of(), Optional.of(name));
    }

    private static TunedAlgorithm allreduce(String name, int number, int segmentBytes) {
        return new TunedAlgorithm(Collective.ALLREDUCE, name, number, segmentBytes);
    }

    private static List<String> arguments(List<String> namesAndValues) {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < namesAndValues.size(); i += 2) {
            words.addAll(List.of("--mca", namesAndValues.get(i), namesAndValues.get(i + 1)));
        }
        return List.copyOf(words);
    }

    private static <T> List<T> both(List<T> some, List<T> more) {
        return Stream.concat(some.stream(), more.stream()).toList();
    }
}
