package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.Optimizer;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * A series of checkpoints in a folder. The first rank of the set copies the state into memory of its own, which is the only
 * time for which the training waits, and a thread writes it. Each is one file of the safetensors format, see {@link
 * Checkpoint}, there as a whole or not at all.
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
 * writes the folder.
 */
public final class Checkpoints implements AutoCloseable {
    private static final HvdLogger LOG = HvdLogger.of(Checkpoints.class);

    private final SeriesFiles files;
    private final ProcessSet ranks;
    private final ResumableParts parts;
    private final Runnable together;
    private final boolean copiesAlone;
    private final StateCopies copies;
    private int leftOut;

    Checkpoints(CheckpointsBuilder builder) {
        this.files = builder.files();
        this.ranks = builder.ranks();
        this.parts = builder.parts();
        this.together = builder.together();
        this.copiesAlone = builder.copiesAlone();
        this.copies = new StateCopies(files, parts, ranks.size());
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
        files.looked();
        NewestValid found = NewestValid.decode(
                ranks.broadcastObject("checkpoints.resume", isWriter() ? newest() : null, ObjectCodec.utf8(), root()));
        if (found.manifest().isEmpty() && !found.refused().isEmpty()) {
            throw new HvdException(
                    ErrorId.NO_VALID_CHECKPOINT,
                    "none of the " + found.refused().size() + " checkpoints in " + files.folder()
                            + " can be resumed. " + String.join("; ", found.refused())
                            + ". Take the program and the flags that wrote them, or an empty folder");
        }
        found.manifest().ifPresent(this::takeOver);
        if (isWriter()) {
            copies.reserve();
        }
        requireSavableState();
        return found.manifest();
    }

    private void requireSavableState() {
        together.run();
        String why = ranks.broadcastObject(
                "checkpoints.state", isWriter() ? whyNotSavable() : null, ObjectCodec.utf8(), root());
        if (!why.isEmpty()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "no checkpoint can be written to " + files.folder() + ", which shows before the first step: "
                            + why);
        }
    }

    private String whyNotSavable() {
        try {
            parts.optimizer().saveState();
            return "";
        } catch (HvdException e) {
            return e.words();
        }
    }

    /**
     * Finds out before the training whether a checkpoint can be written: whether the folder can be made and written to, whether its disk
     * has the room for one file, and whether all names and words can be in one. {@code AutoResume} calls it; a loop of one's own does
     * behind {@link #resumeLatest}. A collective; it leaves an empty folder behind at most.
     *
     * @throws HvdException on all ranks, if it cannot
     */
    public void requireWritable() {
        together.run();
        String why = ranks.broadcastObject(
                "checkpoints.writable", isWriter() ? whyNotWritable() : null, ObjectCodec.utf8(), root());
        if (!why.isEmpty()) {
            throw new HvdException(
                    ErrorId.CHECKPOINT_NOT_WRITTEN,
                    "no checkpoint can be written to " + files.folder() + " by rank " + root()
                            + ", which shows before the first step: " + why);
        }
    }

    private String whyNotWritable() {
        try {
            copies.requireRoom();
            return "";
        } catch (HvdException e) {
            return e.words();
        } catch (IOException e) {
            return e.getMessage();
        }
    }

    private String newest() throws IOException {
        NewestValid found = files.newest(parts);
        found.manifest().ifPresent(manifest -> {
            found.refused().forEach(why -> LOG.warn("a newer checkpoint is refused. {}", why));
            LOG.notice(
                    "going on from {}, which {} ranks have written", files.file(manifest.step()), manifest.worldSize());
        });
        return found.encode();
    }

    private void takeOver(Manifest manifest) {
        parts.loadWords(manifest);
        parts.broadcastTensors(ranks, root());
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
        together.run();
        if (!isWriter()) {
            return;
        }
        files.requireNoFailure();
        if (files.isBusy()) {
            leaveOut(step);
            return;
        }
        copies.save(step, epoch);
    }

    /**
     * Copies the state, for {@link #savePrepared}. A collective. While the checkpoint before is still being written, nothing is
     * copied, and that one is the last.
     */
    void prepare(long step, int epoch) throws IOException {
        together.run();
        if (isWriter() && !files.isBusy()) {
            files.requireNoFailure();
            files.requireOwnFolder(step);
            copies.prepare(step, epoch);
        }
    }

    /** Begins to write the copy, if it is still the last one; on any thread. */
    void savePrepared() {
        copies.savePrepared();
    }

    /** The first rank waits for a batch: until {@link #waitEnds} its state is this one. Others have nothing to save. */
    void waitBegins(long step, int epoch) {
        if (isWriter() && copiesAlone) {
            copies.waitBegins(step, epoch);
        }
    }

    /** Waits for a copy that is being made. */
    void waitEnds() {
        copies.waitEnds();
    }

    /** Copies the state and begins to write it, if this is the first rank and it waits for a batch; on any thread. */
    void saveWaiting() {
        copies.saveWaiting();
    }

    /** Waits for the copy that is being written, and says whether it is of this step and epoch. */
    boolean isSaved(long step, int epoch) {
        return copies.isSaved(step, epoch);
    }

    private void leaveOut(long step) {
        String line =
                "no checkpoint of step {}: the one before is still being written to {}. Save less often; further ones"
                        + " are left out without a word";
        if (leftOut++ == 0) {
            LOG.warn(line, step, files.folder());
        } else {
            LOG.debug(line, step, files.folder());
        }
    }

    /** Does the same, and waits until this checkpoint is on the disk: for the last one of a run. A collective. */
    public void saveAndWait(long step, int epoch) throws IOException {
        together.run();
        if (isWriter() && !copies.isSaved(step, epoch)) {
            files.await();
            copies.save(step, epoch);
            files.await();
        }
    }

    private boolean isWriter() {
        return ranks.rank() == 0;
    }

    private int root() {
        return ranks.ranks().get(0);
    }

    /**
     * Waits until the last checkpoint is on the disk.
     *
     * @throws HvdException on the first rank, if it could not be written
     */
    @Override
    public void close() {
        files.await();
    }
}
