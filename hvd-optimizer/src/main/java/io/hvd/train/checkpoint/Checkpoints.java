package io.hvd.train.checkpoint;

import io.hvd.ProcessSet;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A series of checkpoints in a folder. The first rank of the set copies the state into memory of its own, which is the only
 * time for which the training waits, and a thread writes it. Each is one file of the safetensors format, see {@link
 * Checkpoint}, there as a whole or not at all. With {@link CheckpointsBuilder#everyRankWrites} each rank does so with its share, and a
 * checkpoint is a folder of files with an index.
 *
 * <pre>{@code
 * try (var checkpoints = Checkpoints.in(folder, hvd, optimizer).with("sampler", sampler).keep(3).build()) {
 *     long step = checkpoints.resumeLatest().map(Manifest::step).orElse(0L);
 *     ...
 *     checkpoints.save(step, epoch);
 * }
 * }</pre>
 *
 * <p>{@link #resumeLatest} and {@link #save} are collectives, for the thread that trains. Only the first rank reads and
 * writes the folder, unless every rank does.
 */
public final class Checkpoints implements AutoCloseable {
    private final Saving saving;

    Checkpoints(CheckpointsBuilder builder) {
        this.saving = builder.saving();
    }

    /**
     * Begins a series.
     *
     * @param folder on the host of the set's first rank; the first save makes it
     * @param ranks those that train together
     * @param optimizer the outermost one, such as an {@code AmpOptimizer}, whose state has the scaler's
     */
    public static CheckpointsBuilder in(Path folder, ProcessSet ranks, Optimizer optimizer) {
        return new CheckpointsBuilder(folder, ranks, optimizer);
    }

    /**
     * Goes on from the newest checkpoint that is whole and of this training. A collective: the first rank looks for it and
     * logs which newer ones it has refused and why; then all ranks have its model, optimizer and states. The first rank makes
     * the memory for its copies here, and encodes the optimizer's state once, so that a state that is too large for a
     * checkpoint shows before the training begins.
     *
     * @return what it says about itself; empty on all ranks if the folder has no checkpoint
     * @throws HvdException on all ranks, if there are checkpoints and none can be resumed; it names each with the reason. Also if
     *     the optimizer's state cannot be saved
     */
    public Optional<Manifest> resumeLatest() throws IOException {
        return saving.resumeLatest();
    }

    /**
     * Finds out before the training whether a checkpoint can be written: whether the folder can be made and written to, whether its disk
     * has the room for one file, and whether all names and words can be in one. {@code AutoResume} calls it; a loop of one's own does
     * behind {@link #resumeLatest}. A collective; it leaves an empty folder behind at most.
     *
     * @throws HvdException on all ranks, if it cannot
     */
    public void requireWritable() {
        saving.requireWritable();
    }

    /**
     * Copies the state, and has it written while the training goes on. A collective. If the checkpoint before is still being
     * written, this one is left out with a warning: training does not wait for the disk.
     *
     * @param step steps that are done
     * @param epoch to go on with
     * @throws HvdException on the first rank, if the checkpoint before could not be written, or a state cannot be taken
     */
    public void save(long step, int epoch) throws IOException {
        saving.save(step, epoch);
    }

    /**
     * Copies the state, for {@link #savePrepared}. A collective. While the checkpoint before is still being written, nothing is
     * copied, and that one is the last.
     */
    void prepare(long step, int epoch) throws IOException {
        saving.prepare(step, epoch);
    }

    /** Begins to write the copy, if it is still the last one; on any thread. */
    void savePrepared() {
        saving.savePrepared();
    }

    /** The first rank waits for a batch: until {@link #waitEnds} its state is this one. Others have nothing to save. */
    void waitBegins(long step, int epoch) {
        saving.waitBegins(step, epoch);
    }

    /** Waits for a copy that is being made. */
    void waitEnds() {
        saving.waitEnds();
    }

    /** Copies the state and begins to write it, if this is the first rank and it waits for a batch; on any thread. */
    void saveWaiting() {
        saving.saveWaiting();
    }

    /** Does the same, and waits until this checkpoint is on the disk: for the last one of a run. A collective. */
    public void saveAndWait(long step, int epoch) throws IOException {
        saving.saveAndWait(step, epoch);
    }

    /**
     * Waits until the last checkpoint is on the disk.
     *
     * @throws HvdException on the first rank, if it could not be written
     */
    @Override
    public void close() {
        saving.close();
    }
}
