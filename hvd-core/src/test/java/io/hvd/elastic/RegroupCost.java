package io.hvd.elastic;

import io.hvd.elastic.ElasticEvent.Ended;
import io.hvd.elastic.ElasticEvent.Heard;
import io.hvd.elastic.ElasticEvent.Joined;
import io.hvd.elastic.ElasticEvent.Ready;
import io.hvd.elastic.ElasticOrder.Abandon;
import io.hvd.elastic.ElasticOrder.Form;
import io.hvd.elastic.ElasticOrder.Interrupt;
import io.hvd.elastic.ElasticOrder.Release;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * What one regroup costs the coordinator of many workers: a host of eight ends, all others find that out, and go on.
 *
 * @param members that remain
 * @param toIt messages from workers to the coordinator
 * @param fromIt messages from it to workers
 * @param micros processor time of the coordinator
 * @param secondMicros its processor time for a second of signs of life, four from each worker
 */
record RegroupCost(int members, int toIt, int fromIt, long micros, long secondMicros) {
    private static final int PER_HOST = 8;
    private static final int REPETITIONS = 15;
    private static final int SIGNS_PER_SECOND = 4;

    /** The median of several. */
    static RegroupCost of(int workers) {
        RegroupCost[] costs = IntStream.range(0, REPETITIONS)
                .mapToObj(again -> measure(workers))
                .toArray(RegroupCost[]::new);
        Arrays.sort(costs, (one, other) -> Long.compare(one.micros, other.micros));
        return costs[REPETITIONS / 2];
    }

    private static RegroupCost measure(int workers) {
        Coordinator coordinator =
                new Coordinator(new ElasticLimits(1, workers, workers, 60_000, 60_000, Integer.MAX_VALUE), 0);
        for (int worker = 0; worker < workers; worker++) {
            coordinator.on(new Joined(worker, "h" + worker / PER_HOST), 0);
        }
        long began = cpuNanos();
        int fromIt = 0;
        Set<Integer> gone = new HashSet<>();
        for (int worker = 0; worker < PER_HOST; worker++) {
            gone.add(worker);
            fromIt += messages(coordinator.on(new Ended(worker, "its host is gone"), 1));
        }
        for (int worker = PER_HOST; worker < workers; worker++) {
            fromIt += messages(coordinator.on(new Ready(worker, 0, 100, false, gone), 2));
        }
        long regrouped = cpuNanos();
        for (int sign = 0; sign < SIGNS_PER_SECOND; sign++) {
            for (int worker = PER_HOST; worker < workers; worker++) {
                coordinator.on(new Heard(worker), 3 + sign * 250);
            }
        }
        long second = cpuNanos() - regrouped;
        return new RegroupCost(
                workers - PER_HOST, workers - PER_HOST, fromIt, (regrouped - began) / 1_000, second / 1_000);
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    private static int messages(List<ElasticOrder> orders) {
        return orders.stream().mapToInt(RegroupCost::receivers).sum();
    }

    private static int receivers(ElasticOrder order) {
        if (order instanceof Form form) {
            return form.members().size();
        } else if (order instanceof Interrupt interrupt) {
            return interrupt.members().size();
        } else if (order instanceof Abandon abandon) {
            return abandon.members().size();
        }
        return order instanceof Release ? 1 : 0;
    }
}
