package io.hvd.collective;

import io.hvd.tensor.DType;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Function;

/**
 * Rounds of exchanges between all ranks, several of them under way: while one is packed or unpacked, the others keep
 * the network busy. All ranks go through the same rounds in the same order. A round is over when this rank has heard
 * from every other one. No rank therefore gets further ahead of another than there are rounds under way, and data that
 * a slow rank has not asked for yet takes no more of its memory than a stage.
 */
final class Pipeline {
    /**
     * The least number of rounds under way; with fewer the network would have no work while one is unpacked and the
     * next one packed.
     */
    private static final int LEAST_AT_ONCE = 4;
    /** The largest number of rounds under way: as much as the sockets hold while neither rank is on a core. */
    private static final int MOST_AT_ONCE = 32;

    private final Stage stage;
    private final NetworkWait wait;

    Pipeline(Stage stage, NetworkWait wait) {
        this.stage = stage;
        this.wait = wait;
    }

    /** The exchange that is under way in a round, and the work to do when it has ended. */
    record RoundExchange(Exchange exchange, Runnable onArrival) {}

    /**
     * @param longest number of elements of the largest piece between any two ranks
     * @param activity the name of the time in which nothing has arrived
     * @param begin packs a round and begins its exchange
     */
    void run(DType type, long longest, String activity, Function<PipelineRound, RoundExchange> begin) {
        int most = stage.share(type);
        int share = Math.max(1, Math.min(Messages.BYTES / type.bytes(), most / LEAST_AT_ONCE));
        int slots = Math.min(MOST_AT_ONCE, most / share);
        Deque<RoundExchange> underWay = new ArrayDeque<>();
        int slot = 0;
        for (long from = 0; from < longest; from += share) {
            if (underWay.size() == slots) {
                finishOldest(underWay, activity);
            }
            underWay.add(begin.apply(new PipelineRound(stage, type, from, share, slot)));
            slot = (slot + 1) % slots;
        }
        while (!underWay.isEmpty()) {
            finishOldest(underWay, activity);
        }
    }

    private void finishOldest(Deque<RoundExchange> underWay, String activity) {
        RoundExchange oldest = underWay.remove();
        await(oldest.exchange(), activity);
        oldest.onArrival().run();
    }

    private void await(Exchange exchange, String activity) {
        long since = stage.activities.begin();
        wait.begin();
        while (!exchange.isDone()) {
            wait.pause();
        }
        stage.activities.end(activity, since);
    }
}
