package io.hvd.spi;

import java.util.List;
import java.util.function.BooleanSupplier;

/** The data planes of one rank: that of all ranks, and those of process sets. */
public interface DataPlanes extends AutoCloseable {
    /** The data plane of all ranks. */
    DataPlane ofAll();

    /**
     * Opens a data plane for some of the ranks. Each of these ranks, and no other, makes the same call at the same
     * place in the order of operations.
     *
     * @param members ranks of the job, in the order in which the data plane numbers them
     */
    DataPlane of(List<Integer> members);

    /**
     * Tells the data planes how to learn whether the program's own threads wait for a result, so that a waiting
     * communication thread takes no core from them.
     *
     * @param waits what may be called at each wait, on the communication thread
     */
    void programWaits(BooleanSupplier waits);

    /** Moves on what this rank has sent. */
    Progress progress();

    /**
     * Gives up what is under way because the job has failed: waits for other ranks end by an exception, as far as they
     * can be left. Any thread may call it at any moment; the other ranks need not.
     *
     * @param why the reason, for the exceptions
     */
    void abandon(String why);

    /** Leaves what this rank shares with others, after its last operation and before the ranks meet for the last time. */
    void leave();

    /** Releases the rest after the ranks have met. */
    @Override
    void close();
}
