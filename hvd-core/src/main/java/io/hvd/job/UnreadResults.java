package io.hvd.job;

import io.hvd.log.HvdLogger;
import io.hvd.tensor.Tensor;
import io.hvd.trace.CallSite;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Warns of results that the program never reads: {@code hvd.allreduce("loss", loss)} as a statement leaves the local
 * loss unchanged. Only the first result of each name is watched, since finding the line and watching cost more than a
 * small allreduce. Each line of a program is named once.
 */
public final class UnreadResults {
    private static final HvdLogger LOG = HvdLogger.of(UnreadResults.class);
    /** Limits the memory for names: an operation without a name gets a new name each time. */
    static final int MOST_NAMES = 4096;

    private final ReferenceQueue<Tensor> garbage = new ReferenceQueue<>();
    /** The references must outlive their tensors. */
    private final Set<Watched> pending = ConcurrentHashMap.newKeySet();

    private final Set<String> watched = ConcurrentHashMap.newKeySet();
    private final Set<String> named = ConcurrentHashMap.newKeySet();

    private static final class Watched extends PhantomReference<Tensor> {
        private final Runnable afterwards;

        Watched(Tensor tensor, ReferenceQueue<Tensor> garbage, Runnable afterwards) {
            super(tensor, garbage);
            this.afterwards = afterwards;
        }
    }

    /** Called by the thread that gets the result. */
    public void expect(Tensor result, String name) {
        look();
        if (watched.contains(name) || watched.size() >= MOST_NAMES || !watched.add(name)) {
            return;
        }
        String site = CallSite.current();
        result.expectReading(
                (tensor, afterwards) -> pending.add(new Watched(tensor, garbage, afterwards)),
                () -> report(name, site));
    }

    /**
     * Reports what has become garbage unread. There is no thread for it, which would have to outlive the job for the
     * last results; the next result, or the end of the job, looks for those before.
     */
    void look() {
        for (Reference<?> gone = garbage.poll(); gone != null; gone = garbage.poll()) {
            Watched result = (Watched) gone;
            if (pending.remove(result)) {
                result.afterwards.run();
            }
        }
    }

    private void report(String name, String site) {
        if (named.add(site)) {
            LOG.warn(
                    "the result of \"{}\", got at {}, was never read: the input tensor is unchanged. Use the result, or"
                            + " allreduceInPlace, or barrier() where only the meeting was wanted",
                    name,
                    site);
        }
    }
}
