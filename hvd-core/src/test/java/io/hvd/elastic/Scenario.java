package io.hvd.elastic;

import java.util.Random;

/**
 * What is fixed about one simulated job before it begins.
 *
 * @param hosts on which its workers are
 * @param workers that are started at the beginning
 * @param shortestStepMillis for which a rank computes in a step
 * @param longestStepMillis for which a rank computes in a step
 * @param detectMillis after which a monitor says that a host has disappeared
 * @param peersNotice whether members see that another one has ended or left, without the coordinator's word
 * @param connectionMillis after which a connection that is cut has ended for good
 * @param announces whether the launcher announces workers; otherwise they come by themselves
 * @param replaces whether the launcher starts a worker for one that has ended
 * @param safeWorkers so many of the first workers, all on host 0, to which nothing ever happens
 * @param disturbances how many things happen to the others
 */
record Scenario(
        ElasticLimits limits,
        int hosts,
        int workers,
        TrainedState.Course course,
        int shortestStepMillis,
        int longestStepMillis,
        int mostDelayMillis,
        int detectMillis,
        boolean peersNotice,
        long connectionMillis,
        boolean announces,
        boolean replaces,
        int safeWorkers,
        int disturbances) {
    /** So long a rank computes now and then, as it does when it evaluates or compiles a kernel. */
    static final int LONG_COMPUTATION_MILLIS = 6_000;

    static Scenario of(Random random) {
        int hosts = 1 + random.nextInt(4);
        int workers = 1 + random.nextInt(8);
        int atLeast = 1 + random.nextInt(workers);
        int first = random.nextInt(3) == 0 ? atLeast + random.nextInt(workers - atLeast + 1) : workers;
        int atMost = Math.max(first, workers - 1 + random.nextInt(4));
        int detect = 1_000 + random.nextInt(4_000);
        long timeout = LONG_COMPUTATION_MILLIS + detect + 4_000 + random.nextInt(10_000);
        int resets = random.nextInt(6) == 0 ? random.nextInt(4) : Integer.MAX_VALUE;
        int batch = 1 + random.nextInt(3);
        int epoch = (10 + random.nextInt(30)) * batch * Math.max(2, workers / 2);
        int samples = epoch * (1 + random.nextInt(3));
        int shortest = 5 + random.nextInt(60);
        boolean safe = random.nextInt(3) == 0;
        return new Scenario(
                new ElasticLimits(atLeast, atMost, first, timeout, timeout, resets),
                hosts,
                workers,
                new TrainedState.Course(samples, epoch, batch),
                shortest,
                shortest + random.nextInt(120),
                random.nextBoolean() ? 5 : 300,
                detect,
                random.nextInt(4) > 0,
                random.nextBoolean() ? Long.MAX_VALUE : 6_000 + random.nextInt(15_000),
                random.nextInt(3) > 0,
                random.nextBoolean(),
                safe ? atLeast : 0,
                random.nextInt(12));
    }

    /** A worker's host: the safe ones are on host 0, as are others, and each has a number that is never used again. */
    int hostOf(int worker) {
        return worker < safeWorkers ? 0 : worker % hosts;
    }

    /** Within so long a world in which nothing more happens has to get on. */
    long boundMillis() {
        return LONG_COMPUTATION_MILLIS + longestStepMillis + detectMillis + Coordinator.SILENT_MILLIS + 3_000;
    }
}
