package io.hvd.benchmarks;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * A way to set Open MPI up, from its own parameters.
 *
 * @param name what it is called, and what it sets for allreduce
 * @param arguments of mpirun
 * @param others what it sets for other collectives, where that has another name
 */
record MpiSetting(String name, List<String> arguments, Map<Collective, String> others) {
    private static final List<String> UCX =
            arguments(List.of("pml", "ucx", "pml_ucx_tls", "any", "pml_ucx_devices", "any"));

    static final MpiSetting DEFAULT = new MpiSetting("default", List.of());

    static final MpiSetting SEGMENTED_RING = tuned(allreduce("segmented-ring-256k", 5, 256 << 10));

    /** What an expert would try on one host, one after the other, for every size. */
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

    /** The three that were seen to win somewhere. */
    static final List<MpiSetting> FEW = ALL.subList(0, 3);

    /** The settings over a network, where UCX is another matter. Each sets something for every collective. */
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

    /** What it sets for a collective. */
    String name(Collective collective) {
        return others.getOrDefault(collective, name);
    }

    /** @param allreduce gives the setting its name */
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
