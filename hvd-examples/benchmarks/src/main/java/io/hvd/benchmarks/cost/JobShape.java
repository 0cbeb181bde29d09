package io.hvd.benchmarks.cost;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;

/** The number of a job's ranks and of its hosts, which have as many ranks each. */
public record JobShape(int ranks, int hosts) {
    public JobShape {
        if (hosts < 1 || ranks < hosts || ranks % hosts != 0) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    ranks + " ranks on " + hosts + " hosts, expected at least one host and as many ranks on each");
        }
    }

    /** Reads what {@link #toString} writes: the number of all ranks, an x, and the number of hosts. */
    static JobShape of(String text) {
        int at = text.indexOf('x');
        return new JobShape(Integer.parseInt(text.substring(0, at)), Integer.parseInt(text.substring(at + 1)));
    }

    /** The number of ranks on each host. */
    public int perHost() {
        return ranks / hosts;
    }

    @Override
    public String toString() {
        return ranks + "x" + hosts;
    }
}
