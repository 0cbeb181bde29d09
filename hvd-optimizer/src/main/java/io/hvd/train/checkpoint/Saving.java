package io.hvd.train.checkpoint;

import java.io.IOException;
import java.util.Optional;

/** How the ranks bring a state to the disk and back: the first rank alone, or each of them its share. */
interface Saving {
    /** A collective; empty if there is nothing to resume. */
    Optional<Manifest> resumeLatest() throws IOException;

    /** A collective. @throws io.hvd.error.HvdException on all ranks, if no checkpoint can be written */
    void requireWritable();

    /** Copies the state and begins to write it, or leaves it out while the one before is being written. A collective. */
    void save(long step, int epoch) throws IOException;

    /** Does the same behind the one before, and waits for its end. A collective. */
    void saveAndWait(long step, int epoch) throws IOException;

    /** Copies the state, for {@link #savePrepared}, unless the one before is being written. A collective. */
    void prepare(long step, int epoch) throws IOException;

    /** Begins to write the copy, if it is still the last one; on any thread of every rank. */
    void savePrepared();

    /** This rank waits for a batch: until {@link #waitEnds} its state is this one. */
    void waitBegins(long step, int epoch);

    /** Waits for a copy that is being made. */
    void waitEnds();

    /** Copies the state and begins to write it, if this rank can do it alone and waits for a batch; on any thread. */
    void saveWaiting();

    /** Waits until the last checkpoint is on the disk. */
    void close();
}
