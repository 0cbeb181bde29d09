package io.hvd.engine.loop;

import io.hvd.config.Processors;
import io.hvd.spi.Topology;

/**
 * How many cores the ranks of this host have.
 *
 * @param ranks the number of ranks on this host
 * @param areAll whether these are all ranks of the job
 * @param cores the number of cores of all ranks of this host together
 */
record Cores(int ranks, boolean areAll, int cores) {
    static Cores of(Topology topology) {
        int ranks = topology.localSize();
        return new Cores(
                ranks, ranks == topology.size(), Processors.ofThisProcess(ranks).ofAll(ranks));
    }

    /**
     * Whether the data plane competes with the program for cores: all ranks run on one host, with fewer than two cores
     * each.
     */
    boolean areTakenFromProgram() {
        return areAll && 2 * ranks > cores;
    }
}
