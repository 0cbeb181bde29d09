package io.hvd.backend.mpi.bindings;

import io.hvd.tensor.DType;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Function;

/**
 * Rounds of exchanges between all ranks, several of them under way: while one is packed or unpacked, the others keep the
 * wire busy. All ranks go through the same rounds in the same order. A round is over when this rank has heard from every
 * other one, so no rank gets further ahead of another than there are rounds under way, and what a slow one has not asked
 * for yet takes no more of its memory than a stage.
 */
final class Pipeline {
    /** Fewer would leave the wire with nothing while one is unpacked and the next one packed. */
    private static final int LEAST_AT_ONCE = 4;
    /** What the sockets hold while neither rank is on a core. */
    private static final int MOST_AT_ONCE = 32;

    private final Stage stage;
    private final NetworkWait wait;

    Pipeline(Stage stage, NetworkWait wait) {
        this.stage = stage;
        this.wait = wait;
    }

    /** What is under way in a round, and what is done with it when it is there. */
    record Leg(Exchange exchange, Runnable taking) {}

    /**
     * @param longest piece between any two ranks, in elements
     * @param activity while nothing has arrived
     * @param setOut packs a round and begins its exchange
     */
    void run(DType type, long longest, String activity, Function<PipedRound, Leg> setOut) {
        int most = stage.share(type);
        int share = Math.max(1, Math.min(Messages.BYTES / type.bytes(), most / LEAST_AT_ONCE));
        int slots = Math.min(MOST_AT_ONCE, most / share);
        Deque<Leg> underWay = new ArrayDeque<>();
        int slot = 0;
        for (long from = 0; from < longest; from += share) {
            if (underWay.size() == slots) {
                land(underWay, activity);
            }
            underWay.add(setOut.apply(new PipedRound(stage, type, from, share, slot)));
            slot = (slot + 1) % slots;
        }
        while (!underWay.isEmpty()) {
            land(underWay, activity);
        }
    }

    private void land(Deque<Leg> underWay, String activity) {
        Leg oldest = underWay.remove();
        await(oldest.exchange(), activity);
        oldest.taking().run();
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
