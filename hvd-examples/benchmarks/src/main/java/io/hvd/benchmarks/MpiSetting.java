package io.hvd.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A setting of Open MPI: values of its own parameters.
 *
 * @param name the name of the setting, and of the algorithm that it chooses for allreduce
 * @param arguments the arguments of mpirun
 * @param others the names of the algorithms that it chooses for other collectives, if they differ from {@code name}
 */
record MpiSetting(String name, List<String> arguments, Map<Collective, String> others) {
    private static final List<String> UCX =
            arguments(List.of("pml", "ucx", "pml_ucx_tls", "any", "pml_ucx_devices", "any"));

    static final MpiSetting DEFAULT = new MpiSetting("default", List.of());

    static final MpiSetting SEGMENTED_RING = tuned(allreduce("segmented-ring-256k", 5, 256 << 10));

    /** The settings that an expert would try on one host for every size. */
    static final List<MpiSetting> ALL = List.of(
            DEFAULT,
            new MpiSetting("ucx", UCX),
            SEGMENTED_RING,
            new MpiSetting("ucx+segmented-ring-256k", both(UCX, SEGMENTED_RING.arguments())),
            tuned(allreduce("recursive-doubling", 3, 0)),
            tuned(allreduce("ring", 4, 0)),
            tuned(allreduce("rabenseifner", 6, 0)),
            new MpiSetting(
                    "ob1-without-cma",
                    arguments(List.of("pml", "ob1", "btl", "self,vader", "btl_vader_single_copy_mechanism", "none"))));

    /** The three settings that were the fastest for some size. */
    static final List<MpiSetting> FEW = ALL.subList(0, 3);

    /** The settings over a network, without UCX. Each chooses an algorithm for every collective. */
    static final List<MpiSetting> NETWORK = List.of(
            DEFAULT,
            tuned(
                    allreduce("segmented-ring-1m", 5, 1 << 20),
                    new Algorithm(Collective.BROADCAST, "pipeline-128k", 3, 128 << 10),
                    new Algorithm(Collective.ALLGATHER, "ring", 4, 0),
                    new Algorithm(Collective.REDUCE_SCATTER, "recursive-halving", 3, 0)),
            tuned(
                    allreduce("ring", 4, 0),
                    new Algorithm(Collective.BROADCAST, "pipeline-1m", 3, 1 << 20),
                    new Algorithm(Collective.ALLGATHER, "neighbor-exchange", 5, 0),
                    new Algorithm(Collective.REDUCE_SCATTER, "butterfly", 4, 0)),
            tuned(
                    allreduce("rabenseifner", 6, 0),
                    new Algorithm(Collective.BROADCAST, "scatter-allgather-ring", 9, 0),
                    new Algorithm(Collective.ALLGATHER, "recursive-doubling", 3, 0),
                    new Algorithm(Collective.REDUCE_SCATTER, "recursive-doubling", 2, 0)));

    MpiSetting(String name, List<String> arguments) {
        this(name, arguments, Map.of());
    }

    /** The name of the algorithm that the setting chooses for a collective. */
    String name(Collective collective) {
        return others.getOrDefault(collective, name);
    }

    /** @param allreduce the algorithm for allreduce, whose name the setting gets */
    private static MpiSetting tuned(Algorithm allreduce, Algorithm... others) {
        List<String> parameters = new ArrayList<>(List.of("coll_tuned_use_dynamic_rules", "1"));
        parameters.addAll(allreduce.parameters());
        for (Algorithm other : others) {
            parameters.addAll(other.parameters());
        }
        return new MpiSetting(
                allreduce.name(),
                arguments(parameters),
                Arrays.stream(others).collect(Collectors.toMap(Algorithm::collective, Algorithm::name)));
    }

    private static Algorithm allreduce(String name, int number, int segmentBytes) {
        return new Algorithm(Collective.ALLREDUCE, name, number, segmentBytes);
    }

    private static List<String> arguments(List<String> namesAndValues) {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < namesAndValues.size(); i += 2) {
            words.addAll(List.of("--mca", namesAndValues.get(i), namesAndValues.get(i + 1)));
        }
        return List.copyOf(words);
    }

    private static List<String> both(List<String> some, List<String> more) {
        return Stream.concat(some.stream(), more.stream()).toList();
    }
}
