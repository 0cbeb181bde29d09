package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.log.HvdLogger;
import io.hvd.optimizer.NamedState;
import java.io.IOException;
import java.util.Optional;

/** The first rank alone writes and reads the files, and gives the others what it has read. */
final class FirstRankSaving implements Saving {
    private static final HvdLogger LOG = HvdLogger.of(FirstRankSaving.class);

    private final SeriesFiles files;
    private final ProcessSet ranks;
    private final ResumableParts parts;
    private final Runnable together;
    private final boolean copiesAlone;
    private final StateCopies copies;
    private int leftOut;

    FirstRankSaving(CheckpointsBuilder builder) {
        this.files = builder.files();
        this.ranks = builder.ranks();
        this.parts = builder.parts();
        this.together = builder.together();
        this.copiesAlone = builder.copiesAlone();
        this.copies = new StateCopies(files, parts, ranks.size());
    }

    @Override
    public Optional<Manifest> resumeLatest() throws IOException {
        files.looked();
        NewestValid mine = isWriter() ? files.newest(parts) : null;
        NewestValid found = NewestValid.decode(ranks.broadcastObject(
                "checkpoints.resume", isWriter() ? mine.encode() : null, ObjectCodec.utf8(), root()));
        found.requireAny(files.folder());
        found.manifest().ifPresent(manifest -> takeOver(manifest, isWriter() ? mine.state() : null));
        requireSavableState();
        if (isWriter()) {
            copies.reserve();
        }
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
            parts.state(false);
            return "";
        } catch (HvdException e) {
            return e.words();
        }
    }

    @Override
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

    /** @param state that of the optimizer in the file; null but on the first rank */
    private void takeOver(Manifest manifest, NamedState state) {
        parts.loadWords(manifest);
        parts.broadcastTensors(ranks, root(), state);
    }

    @Override
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

    @Override
    public void prepare(long step, int epoch) throws IOException {
        together.run();
        if (isWriter() && !files.isBusy()) {
            files.requireNoFailure();
            files.requireOwnFolder(step);
            copies.prepare(step, epoch);
        }
    }

    @Override
    public void savePrepared() {
        copies.savePrepared();
    }

    @Override
    public void waitBegins(long step, int epoch) {
        if (isWriter() && copiesAlone) {
            copies.waitBegins(step, epoch);
        }
    }

    @Override
    public void waitEnds() {
        copies.waitEnds();
    }

    @Override
    public void saveWaiting() {
        copies.saveWaiting();
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

    @Override
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
