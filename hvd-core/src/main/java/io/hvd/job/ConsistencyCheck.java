package io.hvd.job;

import io.hvd.config.RankFacts;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.net.StartupExchange;
import io.hvd.spi.Backend;
import io.hvd.spi.Topology;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Compares what must be the same on all ranks for them to work together, before anything else travels. */
final class ConsistencyCheck {
    private static final HvdLogger LOG = HvdLogger.of(ConsistencyCheck.class);

    /**
     * The longest time in which a rank says nothing because its hooks still run: the first start on a host may unpack libraries
     * for longer than the others wait for a word.
     */
    private static final long LONGEST_PAUSE_MILLIS = 5_000;

    private ConsistencyCheck() {}

    /**
     * All ranks call it together, and all of them throw if there is a difference, or if a rank could not be prepared.
     *
     * @param settings this rank's
     * @param hooks those of this rank, for whose end all ranks wait
     * @throws HvdException that names every key that differs, with its values and their ranks
     */
    static void require(Backend backend, JobSettings settings, StartupHooks hooks) {
        RankFacts mine = RankFacts.gather(settings.variables()).with("back end", backend.description());
        long limitMillis = TimeUnit.SECONDS.toMillis(settings.config().control().startTimeoutSeconds());
        List<RankFacts> all = prepared(
                        backend.topology(),
                        mine.toBytes(),
                        hooks,
                        Math.min(LONGEST_PAUSE_MILLIS, limitMillis / 3),
                        backend::exchange)
                .stream()
                .map(RankFacts::of)
                .toList();
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

    /**
     * Exchanges the facts when the hooks of all ranks have ended. Until then the ranks tell each other again and again that they
     * are there, those that are not ready by no bytes.
     *
     * @param pauseMillis how long a rank waits for its hooks before it says so
     */
    static List<byte[]> prepared(
            Topology topology,
            byte[] mine,
            StartupHooks hooks,
            long pauseMillis,
            Function<byte[], List<byte[]>> exchange) {
        String complaint = "rank " + topology.rank() + " (" + topology.host() + ") could not be prepared";
        for (boolean said = false; ; said = true) {
            List<byte[]> told =
                    StartupExchange.hold(complaint, () -> hooks.haveEnded(pauseMillis) ? mine : new byte[0], exchange);
            List<String> missing = IntStream.range(0, told.size())
                    .filter(rank -> told.get(rank).length == 0)
                    .mapToObj(rank -> rank + " on " + topology.hosts().get(rank))
                    .toList();
            if (missing.isEmpty()) {
                return told;
            }
            if (topology.rank() == 0 && !said) {
                LOG.warn(
                        "ranks {} still prepare their libraries, as at the first start on a host; the others wait",
                        missing);
            }
        }
    }
}
