package io.hvd.benchmarks;

import java.util.List;

/**
 * One of the algorithms that Open MPI's module tuned has for a collective.
 *
 * @param name its name in results
 * @param number its number in the module
 * @param segmentBytes size of its segments, or 0 for no segments
 */
record TunedAlgorithm(Collective collective, String name, int number, int segmentBytes) {
    /** Open MPI's parameters that choose this algorithm, each with its name and value. */
    List<String> parameters() {
        String parameter = collective.parameter();
        return List.of(parameter, Integer.toString(number), parameter + "_segmentsize", Integer.toString(segmentBytes));
    }
}
