package io.hvd.job;

import io.hvd.config.RankFacts;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.net.StartupExchange;
import io.hvd.spi.Backend;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.Map;

/** Compares what must be the same on all ranks for them to work together, before anything else travels. */
final class ConsistencyCheck {
    private static final HvdLogger LOG = HvdLogger.of(ConsistencyCheck.class);

    private ConsistencyCheck() {}

    /**
     * All ranks call it together, and all of them throw if there is a difference, or if a rank could not be prepared.
     *
     * @param variables this rank's settings, by variable
     * @param hooks those of this rank, for whose end the exchange waits
     * @throws HvdException that names every key that differs, with its values and their ranks
     */
    static void require(Backend backend, Map<String, String> variables, StartupHooks hooks) {
        Topology topology = backend.topology();
        RankFacts mine = RankFacts.gather(variables).with("back end", backend.description());
        List<byte[]> told = StartupExchange.hold(
                "rank " + topology.rank() + " (" + topology.host() + ") could not be prepared",
                () -> {
                    hooks.await();
                    return mine.toBytes();
                },
                backend::exchange);
        List<RankFacts> all = told.stream().map(RankFacts::of).toList();
        List<String> differences = RankFacts.differences(all);
        if (!differences.isEmpty()) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the ranks are not set up alike, so they could not work together: "
                            + String.join("; and ", differences));
        }
        if (backend.topology().rank() == 0) {
            RankFacts.harmlessDifferences(all).forEach(LOG::warn);
        }
    }
}
