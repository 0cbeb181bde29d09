package io.hvd.spi;

import io.hvd.tensor.ReduceKernel;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * One rank's connection to the others: a control plane, a data plane and who is who. Opened and used
 * on its provider's communication thread only, but for {@link #abort}.
 */
public interface Backend extends AutoCloseable {
    /** What was chosen and why, in a few words for one log line. */
    String description();

    Topology topology();

    ControlChannel control();

    /** The data plane of all ranks. */
    DataPlane collectives();

    /**
     * Opens a data plane for some of the ranks; each of these, and nobody else, makes the same call at
     * the same place in the order of operations.
     *
     * @param members ranks, in the order in which the data plane numbers them
     */
    DataPlane collectives(List<Integer> members);

    /** Gives every rank everybody's bytes, by rank. All ranks call it together, before the first operation. */
    List<byte[]> exchange(byte[] mine);

    /**
     * Opens one more control channel, for messages that must not get between the engine's. All ranks call
     * it together. Its {@link ControlChannel#receive} and {@link ControlChannel#send} belong to one thread,
     * whichever that is, and it ends with the back end.
     */
    default ControlChannel openChannel() {
        throw new UnsupportedOperationException("no further channel on this back end");
    }

    /** Single transfers between the ranks, beside the collectives. All ranks call it together, once. */
    default Transfers transfers() {
        throw new UnsupportedOperationException("no transfers on this back end");
    }

    /** What adds faster than Java does. */
    default ReduceKernel kernel() {
        return ReduceKernel.NONE;
    }

    /**
     * Tells the back end how to learn whether the program's own threads wait for a result, so that a wait of the
     * communication thread takes no core from them. It may ask at each wait, on that thread.
     */
    default void programWaits(BooleanSupplier waits) {
        // Most leave their waiting to somebody else.
    }

    /** Moves on what this rank has sent. */
    Progress progress();

    /**
     * Ends all ranks' processes, or, where the ranks are threads, tells the others that this one is
     * gone. Any thread may call it; it may not return.
     */
    void abort(int exitCode, String reason);

    /** Leaves in order; every rank calls it. */
    @Override
    void close();
}
