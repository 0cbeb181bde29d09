package io.hvd.spi;

import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * One rank's connection to the others, composed of who the rank is, a control plane and data planes. It is made and used
 * on its provider's communication thread only, except for {@link #abandon}.
 */
public final class Backend implements AutoCloseable {
    private final Description description;
    private final Bootstrap bootstrap;
    private final ControlPlane control;
    private final DataPlanes planes;
    private final ControlChannel channel;

    /** Opens the first control channel; all ranks come here together. */
    public Backend(Description description, Bootstrap bootstrap, ControlPlane control, DataPlanes planes) {
        this(description, bootstrap, control, planes, control.open());
    }

    private Backend(
            Description description,
            Bootstrap bootstrap,
            ControlPlane control,
            DataPlanes planes,
            ControlChannel channel) {
        this.description = description;
        this.bootstrap = bootstrap;
        this.control = control;
        this.planes = planes;
        this.channel = channel;
    }

    /**
     * What the back end says of itself.
     *
     * @param transport what carries data between processes, such as {@code mpi}; {@code local} if nothing does
     * @param words what was chosen and why, in a few words for one log line
     */
    public record Description(String transport, String words) {}

    /** This back end with data planes that are made of its own and take their place. */
    public Backend with(String words, DataPlanes others) {
        return new Backend(new Description(transport(), words), bootstrap, control, others, channel);
    }

    /** Says in a few words, for one log line, what was chosen and why. */
    public String description() {
        return description.words();
    }

    /** The name of what carries data between processes, such as {@code mpi}; {@code local} if nothing does. */
    public String transport() {
        return description.transport();
    }

    public Bootstrap bootstrap() {
        return bootstrap;
    }

    public Topology topology() {
        return bootstrap.topology();
    }

    /** Gives every rank the bytes of all ranks, by rank. All ranks call it together, before the first operation. */
    public List<byte[]> exchange(byte[] mine) {
        return bootstrap.exchange(mine);
    }

    /** The engine's control channel. */
    public ControlChannel control() {
        return channel;
    }

    /** Opens one more control channel, as {@link ControlPlane#open} does. */
    public ControlChannel openChannel() {
        return control.open();
    }

    public DataPlanes planes() {
        return planes;
    }

    /** The data plane of all ranks. */
    public DataPlane collectives() {
        return planes.ofAll();
    }

    /** The data plane of some of the ranks, as {@link DataPlanes#of} makes it. */
    public DataPlane collectives(List<Integer> members) {
        return planes.of(members);
    }

    /** As {@link DataPlanes#programWaits}. */
    public void programWaits(BooleanSupplier waits) {
        planes.programWaits(waits);
    }

    /** Moves on what this rank has sent. */
    public Progress progress() {
        return planes.progress();
    }

    /**
     * Gives up what is under way because the job has failed: no call waits for another rank any longer, as far as the
     * parts can leave their waits, and the other ranks learn that this one is gone. Any thread may call it.
     *
     * @param why the reason, for the exceptions
     */
    public void abandon(String why) {
        control.abandon(why);
        planes.abandon(why);
    }

    /**
     * Gives back the connections of a job that has failed, or has not begun, in a process that goes on. What only all ranks
     * together can give back, such as a communicator of MPI, stays until the process ends, and so does memory of a GPU, which
     * may still be in use there.
     */
    public void discard() {
        try {
            planes.abandon("this rank has left the job, which has failed or has not begun");
        } finally {
            control.discard();
        }
    }

    /** Leaves the job in an orderly way; every rank calls it. */
    @Override
    public void close() {
        planes.leave();
        control.close();
        planes.close();
    }
}
