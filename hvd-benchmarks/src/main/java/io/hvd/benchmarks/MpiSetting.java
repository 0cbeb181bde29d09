package io.hvd.benchmarks;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A way to set Open MPI up, from its own parameters.
 *
 * @param arguments of mpirun
 */
record MpiSetting(String name, List<String> arguments) {
    private static final List<String> UCX = parameters("pml", "ucx", "pml_ucx_tls", "any", "pml_ucx_devices", "any");

    static final MpiSetting DEFAULT = new MpiSetting("default", List.of());

    static final MpiSetting SEGMENTED_RING = tuned("segmented-ring-256k", 5, 256 << 10);

    /** What an expert would try on one host, one after the other, for every size. */
    static final List<MpiSetting> ALL = List.of(
            DEFAULT,
            new MpiSetting("ucx", UCX),
            SEGMENTED_RING,
            new MpiSetting("ucx+segmented-ring-256k", both(UCX, algorithm(5, 256 << 10))),
            tuned("recursive-doubling", 3, 0),
            tuned("ring", 4, 0),
            tuned("rabenseifner", 6, 0),
            new MpiSetting(
                    "ob1-without-cma",
                    parameters("pml", "ob1", "btl", "self,vader", "btl_vader_single_copy_mechanism", "none")));

    /** The three that were seen to win somewhere. */
    static final List<MpiSetting> FEW = ALL.subList(0, 3);

    /** The same over a network, where UCX is another matter. */
    static final List<MpiSetting> NETWORK =
            List.of(DEFAULT, tuned("segmented-ring-1m", 5, 1 << 20), tuned("ring", 4, 0), tuned("rabenseifner", 6, 0));

    private static MpiSetting tuned(String name, int algorithm, int segmentBytes) {
        return new MpiSetting(name, algorithm(algorithm, segmentBytes));
    }

    /** Of the module tuned: 3 recursive doubling, 4 ring, 5 segmented ring, 6 Rabenseifner. */
    private static List<String> algorithm(int number, int segmentBytes) {
        return parameters(
                "coll_tuned_use_dynamic_rules",
                "1",
                "coll_tuned_allreduce_algorithm",
                Integer.toString(number),
                "coll_tuned_allreduce_algorithm_segmentsize",
                Integer.toString(segmentBytes));
    }

    private static List<String> parameters(String... namesAndValues) {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            words.addAll(List.of("--mca", namesAndValues[i], namesAndValues[i + 1]));
        }
        return List.copyOf(words);
    }

    private static List<String> both(List<String> some, List<String> more) {
        return Stream.concat(some.stream(), more.stream()).toList();
    }
}
