package io.hvd.spi;

import io.hvd.kernel.ReduceKernel;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * One rank's connection to the others: a control plane, a data plane and the topology. It is opened and used on its
 * provider's communication thread only, except for {@link #abort}.
 */
public interface Backend extends AutoCloseable {
    /** Says in a few words, for one log line, what was chosen and why. */
    String description();

    Topology topology();

    ControlChannel control();

    /** The data plane of all ranks. */
    DataPlane collectives();

    /**
     * Opens a data plane for some of the ranks. Each of these ranks, and no other, makes the same call at the same
     * place in the order of operations.
     *
     * @param members global ranks, in the order in which the data plane numbers them
     */
    DataPlane collectives(List<Integer> members);

    /** Gives every rank the bytes of all ranks, by rank. All ranks call it together, before the first operation. */
    List<byte[]> exchange(byte[] mine);

    /**
     * Opens one more control channel, for messages that must not come between those of the engine. All ranks call it
     * together. One thread, which may be any, calls the channel's {@link ControlChannel#receive} and {@link
     * ControlChannel#send}. The channel ends with the back end.
     */
    ControlChannel openChannel();

    /**
     * Opens single transfers between the ranks, which run beside the collectives. All ranks call it together, once.
     *
     * @throws UnsupportedOperationException if the ranks are threads of one process, which hand tensors to each other
     */
    Transfers transfers();

    /** The kernel that adds elements faster than Java does, or {@link ReduceKernel#NONE}. */
    ReduceKernel kernel();

    /**
     * Tells the back end how to learn whether the program's own threads wait for a result, so that a waiting
     * communication thread takes no core from them.
     *
     * @param waits what may be called at each wait, on the communication thread
     */
    void programWaits(BooleanSupplier waits);

    /** Moves on what this rank has sent. */
    Progress progress();

    /**
     * Ends the processes of all ranks or, where the ranks are threads, tells the others that this one is gone. Any
     * thread may call it; it may not return.
     */
    void abort(int exitCode, String reason);

    /** Leaves the job in an orderly way; every rank calls it. */
    @Override
    void close();
}
