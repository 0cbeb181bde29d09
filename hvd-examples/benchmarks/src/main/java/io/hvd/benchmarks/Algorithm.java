package io.hvd.benchmarks;

import java.util.List;

/**
 * One of those that Open MPI's module tuned has for a collective.
 *
 * @param name what it is called in results
 * @param number which one it is there
 * @param segmentBytes 0 for no segments
 */
record Algorithm(Collective collective, String name, int number, int segmentBytes) {
    /** Names and values. */
    List<String> parameters() {
        String parameter = collective.parameter();
        return List.of(parameter, Integer.toString(number), parameter + "_segmentsize", Integer.toString(segmentBytes));
    }
}
