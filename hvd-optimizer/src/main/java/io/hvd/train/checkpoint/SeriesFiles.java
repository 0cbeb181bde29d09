package io.hvd.train.checkpoint;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.WholeFile;
import io.hvd.log.HvdLogger;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/** Writes the files of a series one after the other on a thread of its own, and deletes the old ones. */
final class SeriesFiles {
    private static final HvdLogger LOG = HvdLogger.of(SeriesFiles.class);

    private final CheckpointFolder folder;
    private final int kept;
    private final Output output;
    private final BackgroundWriter writer = new BackgroundWriter();
    /** The last checkpoint that this run knows to be whole; null if there is none. */
    private volatile Whole lastWhole;
    /** Whether this run goes on with what is in the folder. */
    private boolean looked;

    /** @param path the file or the folder */
    private record Whole(long step, Path path) {}

    /** Puts a checkpoint into a file. */
    interface Output {
        void write(Checkpoint checkpoint, Path file) throws IOException;
    }

    SeriesFiles(CheckpointFolder folder, int kept, Output output) {
        this.folder = folder;
        this.kept = kept;
        this.output = output;
    }

    Path folder() {
        return folder.folder();
    }

    /** The folder's files are those of this run, or of one that it goes on with. */
    void looked() {
        looked = true;
    }

    /** Loads the newest file that is whole and of this training. */
    NewestValid newest(ResumableParts parts) throws IOException {
        NewestValid found = NewestValid.load(folder, parts);
        resumed(found);
        return found;
    }

    /** The checkpoint of this step was found and taken. */
    void resumed(NewestValid found) {
        found.manifest().ifPresent(manifest -> lastWhole = new Whole(manifest.step(), found.from()));
        found.say();
    }

    CheckpointFolder checkpoints() {
        return folder;
    }

    /** Whether the last file that this run knows to be whole is of this step. */
    boolean isWhole(long step) {
        Whole last = lastWhole;
        return last != null && last.step == step;
    }

    /** Whether a file is still being written. */
    boolean isBusy() {
        return writer.isBusy();
    }

    /** Throws if the last file could not be written, once. */
    void requireNoFailure() {
        writer.requireNoFailure();
    }

    /** Waits until the last file is on the disk. */
    void await() {
        writer.await();
    }

    /** Begins to write a file, after the one before. */
    void begin(long step, Checkpoint checkpoint) {
        writer.begin(() -> {
            write(step, checkpoint);
            return null;
        });
    }

    /** Makes the folder, and finds out by trying whether a file can be written there. @throws IOException in words, if not */
    private void requireWritable() throws IOException {
        try {
            makeFolder();
            WholeFile.requireWritable(folder.file(0));
        } catch (IOException e) {
            throw new IOException(words(e) + ". Let this user write there, or name another folder", e);
        }
    }

    private void makeFolder() throws IOException {
        Path path = folder.folder();
        if (Files.exists(path) && !Files.isDirectory(path)) {
            throw new FileSystemException(path.toString(), null, "this is a file, expected a folder");
        }
        if (!Files.isDirectory(path)) {
            try {
                Files.createDirectories(path);
            } catch (IOException e) {
                throw new FileSystemException(path.toString(), null, "the folder cannot be made: " + words(e));
            }
            WholeFile.forceNames(path.toAbsolutePath().getParent());
        }
    }

    private static String words(IOException e) {
        return e instanceof FileSystemException in && in.getReason() != null
                ? in.getReason()
                : e.getClass().getSimpleName() + ": " + e.getMessage();
    }

    /** Requires that this rank sees the folder that the first rank has made. */
    void requireFolder() throws IOException {
        if (!Files.isDirectory(folder.folder()) || !Files.isWritable(folder.folder())) {
            throw new IOException("it does not see the folder that the first rank has made, or may not write there. All"
                    + " ranks write into it, so it must be on a file system of all hosts");
        }
    }

    /** Later files of a run that is not resumed would be taken for the newest ones by the next. */
    void requireOwnFolder(long step) throws IOException {
        if (!Files.isDirectory(folder.folder())) {
            try {
                requireWritable();
            } catch (IOException e) {
                throw new HvdException(
                        ErrorId.CHECKPOINT_NOT_WRITTEN,
                        "no checkpoint can be written to " + folder.folder() + ": " + e.getMessage(),
                        e);
            }
        }
        if (looked) {
            return;
        }
        looked = true;
        Optional<Long> later = folder.steps().stream().findFirst().filter(last -> last >= step);
        if (later.isPresent()) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "the folder " + folder.folder() + " holds checkpoints of another run, up to step " + later.get()
                            + ", and this one is at step " + step
                            + ": call resumeLatest() first, or take an empty folder");
        }
    }

    /**
     * @param bytes of one checkpoint
     * @throws IOException in words, if the folder cannot be written to, or its disk has not the room for the checkpoints that are kept
     *     and the one that is being written
     */
    void requireRoom(long bytes) throws IOException {
        requireWritable();
        deleteLeftovers();
        long room = room(folder.folder());
        long there = folder.bytes();
        long atOnce = kept == Integer.MAX_VALUE ? 2 : kept + 1L;
        long needed = Math.max(bytes, atOnce * bytes - there);
        if (room < needed) {
            throw new IOException(
                    "a checkpoint has " + bytes + " bytes, and " + atOnce + " of them are there at once, of"
                            + " which " + there + " bytes are there already: expected room for " + needed
                            + " more, and the disk has room for " + room
                            + ". Make room, keep(...) fewer, or name a folder on another disk");
        }
    }

    /** The bytes that fit there, or more than any file has where that is not known, as in a root folder that is no mount. */
    static long room(Path place) {
        try {
            FileStore disk = Files.getFileStore(place);
            return disk.getTotalSpace() > 0 ? disk.getUsableSpace() : Long.MAX_VALUE;
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }

    private void write(long step, Checkpoint checkpoint) {
        Path file = folder.file(step);
        try {
            output.write(checkpoint.withTensorSums(), file);
            lastWhole = new Whole(step, file);
            deleteOld(step);
        } catch (IOException e) {
            throw new HvdException(ErrorId.CHECKPOINT_NOT_WRITTEN, notWritten(file, checkpoint, e), e);
        }
    }

    /** Begins to write a rank's file of a checkpoint; the first rank then waits for the others' and makes all of them a checkpoint. */
    void begin(long step, UnfinishedSet set, int rank, Checkpoint share, BooleanSupplier isAbandoned) {
        writer.begin(() -> {
            write(step, set, rank, share, isAbandoned);
            return null;
        });
    }

    private void write(long step, UnfinishedSet set, int rank, Checkpoint share, BooleanSupplier isAbandoned) {
        try {
            Files.createDirectories(set.path());
            output.write(share.withTensorSums(), set.file(rank));
            if (rank == 0) {
                set.await(isAbandoned);
                set.commit(folder, step);
                lastWhole = new Whole(step, folder.set(step));
                deleteOld(step);
            }
        } catch (IOException e) {
            if (rank != 0) {
                set.failed(rank, words(e));
            }
            throw new HvdException(
                    ErrorId.CHECKPOINT_NOT_WRITTEN,
                    notWritten(rank == 0 ? folder.set(step) : set.file(rank), share, e),
                    e);
        }
    }

    /** What cannot be deleted takes room, and the checkpoint is there all the same. */
    private void deleteOld(long step) {
        try {
            folder.deleteReplaced(step);
            folder.keepLast(kept, step);
        } catch (IOException e) {
            LOG.warn("older checkpoints in {} could not be deleted: {}", folder.folder(), words(e));
        }
    }

    /** Deletes what killed processes and failed saves have left in the folder, while no rank writes into it. */
    void deleteLeftovers() {
        try {
            UnfinishedSet.deleteLeftovers(folder.folder());
            Whole last = lastWhole;
            if (last != null && last.path.equals(folder.replaced(last.step))) {
                lastWhole = new Whole(last.step, folder.takeBack(last.step));
            }
            for (long step : folder.steps()) {
                folder.deleteReplaced(step);
            }
        } catch (IOException e) {
            LOG.warn("unfinished checkpoints in {} could not be deleted: {}", folder.folder(), words(e));
        }
    }

    private String notWritten(Path file, Checkpoint checkpoint, IOException e) {
        Whole last = lastWhole;
        long bytes =
                checkpoint.tensors().values().stream().mapToLong(Tensor::bytes).sum();
        return "the checkpoint " + file + " of " + bytes + " bytes could not be written, " + room() + ": "
                + words(e) + ". "
                + (last == null ? "This process knows of none before it" : last.path + " stays and can be resumed");
    }

    private String room() {
        long room = room(folder.folder());
        return room == Long.MAX_VALUE ? "the room on its disk is not known" : "its disk has room for " + room;
    }
}
