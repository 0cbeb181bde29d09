package io.hvd.spi;

import io.hvd.kernel.ReduceKernel;
import java.util.List;
import java.util.Optional;

/**
 * The way on which bytes go from rank to rank; it knows no tensors. It is opened and used on one thread, except for
 * {@link #abandon}. It never ends the process.
 */
public interface Transport extends AutoCloseable {
    /** Says in a few words, for one log line, what it is. */
    String description();

    /**
     * Connects some of the ranks. Each of them, and no other, makes the same call at the same place in the order of its
     * calls.
     *
     * @param members ranks of the job, in the order in which the group numbers them
     */
    Group group(List<Integer> members);

    /** Moves on what this rank has sent. */
    Progress progress();

    /**
     * Waits for what the other ranks send, but not much longer than so many nanoseconds. A transport that is told of it by
     * the system returns as soon as something comes.
     */
    void rest(long nanos);

    /** The kernel that comes with the transport and adds elements faster than Java does, or {@link ReduceKernel#NONE}. */
    ReduceKernel kernel();

    /**
     * Gives up what is under way because the job has failed: waits for other ranks end by an exception, as far as the
     * transport can leave them, and later calls throw. Any thread may call it at any moment; the other ranks need not.
     *
     * @param why the reason, for the exceptions
     */
    void abandon(String why);

    /** Releases everything; every rank calls it after its last operation. */
    @Override
    void close();

    /** Some ranks that are connected with each other. Their numbers are those of {@link #group}'s order. */
    interface Group extends AutoCloseable {
        /** Transfers between the members, which do not mix with those of any other group. */
        Transfers transfers();

        /** The collectives that the transport has by itself, which are then used instead of transfers; empty without. */
        Optional<ByteCollectives> collectives();

        /** Releases what belongs to this group alone; every member calls it. */
        @Override
        void close();
    }
}
