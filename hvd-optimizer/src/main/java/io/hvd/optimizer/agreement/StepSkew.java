package io.hvd.optimizer.agreement;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.Tensor;
import java.util.Arrays;

/**
 * Warns once, after a join, if some ranks had far more steps than others since the join before: the others have done nothing
 * meanwhile, and have averaged nothing into the model.
 */
public final class StepSkew {
    /** As torch's {@code join}. */
    private static final long MOST = 1000;

    private static final HvdLogger LOG = HvdLogger.of(StepSkew.class);

    private final ProcessSet set;
    private long before;
    private boolean warned;

    public StepSkew(ProcessSet set) {
        this.set = set;
    }

    /** Every rank comes here when a join is over. @param steps of this rank so far */
    public void joined(long steps) {
        if (!set.included() || set.size() == 1) {
            return;
        }
        long[] since = new long[set.size()];
        since[set.rank()] = steps - before;
        before = steps;
        set.allreduceInPlace("join.steps", Tensor.of(since), AllreduceOptions.sum());
        if (set.rank() == 0 && !warned) {
            warn(since);
        }
    }

    private void warn(long[] since) {
        long most = Arrays.stream(since).max().orElse(0);
        long least = Arrays.stream(since).min().orElse(0);
        warned = most - least > MOST;
        if (warned) {
            LOG.warn(
                    "rank {} has made {} steps since the last join, and rank {} only {}: it has waited for more than {}"
                            + " steps of others. Divide the data more evenly, or begin the next epoch earlier; this is said once",
                    rankWith(most, since),
                    most,
                    rankWith(least, since),
                    least,
                    MOST);
        }
    }

    private int rankWith(long steps, long[] since) {
        int place = 0;
        while (since[place] != steps) {
            place++;
        }
        return set.ranks().get(place);
    }
}
