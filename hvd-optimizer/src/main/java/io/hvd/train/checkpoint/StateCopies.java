package io.hvd.train.checkpoint;

import io.hvd.train.Checkpoint;
import java.io.IOException;

/**
 * The first rank's copies of a training's state, and the beginning of their writing. There is memory for one copy: a new one overwrites
 * the one before. The thread that trains makes copies; while it pauses or waits, any thread may have one written.
 */
final class StateCopies {
    private final SeriesFiles files;
    private final ResumableParts parts;
    private final int worldSize;
    private final TensorCopies tensors = new TensorCopies();
    /** The copy that {@link #savePrepared} writes; null if none was made since the last save. */
    private Prepared prepared;
    /** The manifest of a checkpoint of now, while this rank waits for a batch; else null. */
    private Manifest waiting;

    private record Prepared(long step, int epoch, boolean written, Checkpoint checkpoint) {
        Prepared asWritten() {
            return new Prepared(step, epoch, true, checkpoint);
        }
    }

    StateCopies(SeriesFiles files, ResumableParts parts, int worldSize) {
        this.files = files;
        this.parts = parts;
        this.worldSize = worldSize;
    }

    /** Makes the memory for the copies. */
    void reserve() {
        tensors.reserve(ResumableParts.all(parts.tensors().get(), parts.state(false)));
    }

    /** Requires that the folder's disk has the room for a checkpoint. */
    void requireRoom() throws IOException {
        files.requireRoom(copy(manifest(0, 0)).withTensorSums().bytes() + parts.growth(parts.state(false)));
    }

    private Manifest manifest(long step, int epoch) {
        return parts.manifest(step, epoch, worldSize);
    }

    private Checkpoint copy(Manifest manifest) {
        return parts.checkpoint(manifest, tensors);
    }

    /** Makes a copy for {@link #savePrepared}. */
    synchronized void prepare(long step, int epoch) {
        prepared = new Prepared(step, epoch, false, copy(manifest(step, epoch)));
    }

    /** Begins to write the copy, if it is still the last one. */
    synchronized void savePrepared() {
        if (prepared != null && !prepared.written) {
            files.begin(prepared.step, prepared.checkpoint);
            prepared = prepared.asWritten();
        }
    }

    /** Until {@link #waitEnds} the state is this one. */
    synchronized void waitBegins(long step, int epoch) {
        waiting = manifest(step, epoch); // the sampler counts a batch that comes
    }

    /** Waits for a copy that is being made. */
    synchronized void waitEnds() {
        waiting = null;
    }

    /** Copies the state and begins to write it, if this rank waits for a batch and nothing is being written. */
    synchronized void saveWaiting() {
        if (waiting != null && !files.isBusy() && !files.isWhole(waiting.step())) {
            prepared = null;
            files.begin(waiting.step(), copy(waiting));
            waiting = null;
        }
    }

    /** Waits for the copy that is being written, and says whether it is of this step and epoch. */
    synchronized boolean isSaved(long step, int epoch) {
        boolean saved = prepared != null && prepared.written && prepared.step == step && prepared.epoch == epoch;
        if (saved) {
            files.await();
        }
        return saved;
    }

    /** Copies the state and begins to write it, behind the checkpoint before. */
    synchronized void save(long step, int epoch) throws IOException {
        prepared = null;
        files.await();
        files.requireOwnFolder(step);
        files.begin(step, copy(manifest(step, epoch)));
    }
}
