package io.hvd.job;

import io.hvd.tensor.Tensor;
import io.hvd.trace.CallSite;
import java.lang.ref.Cleaner;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Warns of results that the program never reads: {@code hvd.allreduce("loss", loss)} as a statement leaves the local
 * loss unchanged. Only the first result of each name is watched, since finding the line and watching cost more than a
 * small allreduce. Each line of a program is named once.
 */
public final class UnreadResults {
    private static final Logger LOG = LoggerFactory.getLogger(UnreadResults.class);
    /** Limits the memory for names: an operation without a name gets a new name each time. */
    static final int MOST_NAMES = 4096;

    /** Made with its thread when the first result has to be watched. */
    private Cleaner cleaner;

    private final Set<String> watched = ConcurrentHashMap.newKeySet();
    private final Set<String> named = ConcurrentHashMap.newKeySet();

    /** Called by the thread that gets the result. */
    public void expect(Tensor result, String name) {
        if (watched.contains(name) || watched.size() >= MOST_NAMES || !watched.add(name)) {
            return;
        }
        String site = CallSite.current();
        result.expectReading(cleaner(), () -> report(name, site));
    }

    private synchronized Cleaner cleaner() {
        if (cleaner == null) {
            cleaner = Cleaner.create();
        }
        return cleaner;
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
