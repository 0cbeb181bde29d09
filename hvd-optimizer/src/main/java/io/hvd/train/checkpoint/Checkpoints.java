package io.hvd.train.checkpoint;

import io.hvd.ObjectCodec;
import io.hvd.ProcessSet;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

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
    private static final Logger LOG = LoggerFactory.getLogger(Checkpoints.class);

    private final CheckpointFolder folder;
    private final ProcessSet ranks;
    private final ResumableParts parts;
    private final Runnable together;
    private final int kept;
    private final Output output;

    private final Snapshot snapshot = new Snapshot();
    private final BackgroundWriter writer = new BackgroundWriter();
    /** The step of the last file that this run knows to be whole; -1 if there is none. */
    private volatile long lastWhole = -1;

    private boolean looked;
    private int leftOut;

    private Checkpoints(Builder builder) {
        this.folder = new CheckpointFolder(builder.folder);
        this.ranks = builder.ranks;
        this.parts = builder.parts();
        this.together = builder.together;
        this.kept = builder.kept;
        this.output = builder.output;
    }

    /** Puts a checkpoint into a file. */
    interface Output {
        void write(Checkpoint checkpoint, Path file) throws IOException;
    }

    /**
     * Begins a series.
     *
     * @param folder on the host of the set's first rank; the first save makes it
     * @param ranks those that train together
     * @param optimizer the outermost one, such as an {@code AmpOptimizer}, whose state has the scaler's
     */
    public static Builder in(Path folder, ProcessSet ranks, Optimizer optimizer) {
        return new Builder(folder, ranks, optimizer);
    }

    /**
     * Goes on from the newest checkpoint that is whole and of this training. A collective: the first rank looks for it and
     * logs which newer ones it has refused and why; then all ranks have its model, optimizer and states. The first rank makes
     * the memory for its copies here, before the training begins.
     *
     * @return what it says about itself; empty on all ranks if the folder has no checkpoint
     * @throws HvdException on all ranks, if there are checkpoints and none can be resumed; it names each with the reason
     */
    public Optional<Manifest> resumeLatest() throws IOException {
        looked = true;
        NewestValid found = NewestValid.decode(
                ranks.broadcastObject("checkpoints.resume", isWriter() ? newest() : null, ObjectCodec.utf8(), root()));
        if (found.manifest().isEmpty() && !found.refused().isEmpty()) {
            throw new HvdException(
                    ErrorId.NO_VALID_CHECKPOINT,
                    "none of the " + found.refused().size() + " checkpoints in " + folder.folder()
                            + " can be resumed. " + String.join("; ", found.refused())
                            + ". Take the program and the flags that wrote them, or an empty folder");
        }
        found.manifest().ifPresent(this::takeOver);
        if (isWriter()) {
            snapshot.reserve(parts.tensors().get());
        }
        return found.manifest();
    }

    private String newest() throws IOException {
        NewestValid found = NewestValid.load(folder, parts);
        found.manifest().ifPresent(manifest -> {
            found.refused().forEach(why -> LOG.warn("a newer checkpoint is refused. {}", why));
            LOG.info(
                    "going on from {}, which {} ranks have written",
                    folder.file(manifest.step()),
                    manifest.worldSize());
            lastWhole = manifest.step();
        });
        return found.encode();
    }

    private void takeOver(Manifest manifest) {
        parts.loadWords(manifest);
        SortedMap<String, Tensor> model = parts.tensors().get();
        ranks.broadcastParameters(model, root());
        if (!isWriter()) {
            parts.load().accept(model);
        }
        broadcastOptimizer();
    }

    private void broadcastOptimizer() {
        Optimizer optimizer = parts.optimizer();
        if (optimizer instanceof AmpOptimizer amp) {
            amp.broadcastOptimizerState(root());
        } else if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.broadcastOptimizerState(root());
        } else {
            byte[] mine = isWriter() ? optimizer.saveState() : null;
            optimizer.loadState(ranks.broadcastObject("checkpoints.optimizer", mine, ObjectCodec.bytes(), root()));
        }
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
        writer.requireNoFailure();
        if (writer.isBusy()) {
            leaveOut(step);
            return;
        }
        begin(step, epoch);
    }

    private void leaveOut(long step) {
        LOG.atLevel(leftOut++ == 0 ? Level.WARN : Level.DEBUG)
                .log(
                        "no checkpoint of step {}: the one before is still being written to {}. Save less often; further"
                                + " ones are left out without a word",
                        step,
                        folder.folder());
    }

    /** Does the same, and waits until this checkpoint is on the disk: for the last one of a run. A collective. */
    public void saveAndWait(long step, int epoch) throws IOException {
        together.run();
        if (isWriter()) {
            writer.await();
            begin(step, epoch);
            writer.await();
        }
    }

    private void begin(long step, int epoch) throws IOException {
        Files.createDirectories(folder.folder());
        requireOwnFolder(step);
        Checkpoint checkpoint = parts.checkpoint(parts.manifest(step, epoch, ranks.size()), snapshot);
        writer.begin(() -> {
            write(step, checkpoint);
            return null;
        });
    }

    /** Later files of a run that is not resumed would be taken for the newest ones by the next. */
    private void requireOwnFolder(long step) throws IOException {
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

    private void write(long step, Checkpoint checkpoint) {
        Path file = folder.file(step);
        try {
            output.write(checkpoint.withTensorSums(), file);
            lastWhole = step;
            folder.keepLast(kept, step);
        } catch (IOException e) {
            throw new HvdException(ErrorId.CHECKPOINT_NOT_WRITTEN, notWritten(file, checkpoint, e), e);
        }
    }

    private String notWritten(Path file, Checkpoint checkpoint, IOException e) {
        long bytes =
                checkpoint.tensors().values().stream().mapToLong(Tensor::bytes).sum();
        return "the checkpoint " + file + " of " + bytes + " bytes could not be written, " + room() + ": "
                + e.getMessage() + ". "
                + (lastWhole < 0 ? "There is none before it" : folder.file(lastWhole) + " stays and can be resumed");
    }

    private String room() {
        try {
            return "its disk has room for "
                    + Files.getFileStore(folder.folder()).getUsableSpace();
        } catch (IOException e) {
            return "the room on its disk is not known";
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
        writer.await();
    }

    /** Begins with the last three kept. */
    public static final class Builder {
        private final Path folder;
        private final ProcessSet ranks;
        private final Optimizer optimizer;
        private final SortedMap<String, Stateful> stateful = new TreeMap<>();
        private final SortedMap<String, String> config = new TreeMap<>();
        private final SortedMap<String, String> versions = new TreeMap<>();
        private Supplier<? extends SortedMap<String, Tensor>> tensors;
        private Consumer<SortedMap<String, Tensor>> load;
        private Runnable together = () -> {};
        private int kept = 3;
        private Output output = Checkpoint::write;

        private Builder(Path folder, ProcessSet ranks, Optimizer optimizer) {
            this.folder = Objects.requireNonNull(folder, "folder");
            this.ranks = Objects.requireNonNull(ranks, "ranks");
            this.optimizer = Objects.requireNonNull(optimizer, "optimizer");
            this.tensors = () -> ResumableParts.parameters(optimizer);
            this.load = saved -> ResumableParts.overwrite(ResumableParts.parameters(optimizer), saved);
            versions.put("java", Runtime.version().toString());
            String own = Checkpoints.class.getPackage().getImplementationVersion();
            versions.put("hvd", own == null ? "not from a jar" : own);
        }

        /**
         * Sets what the model's tensors are; without it the optimizer's parameters, which must then be in the host's memory.
         * With LibTorch it is {@code model(() -> StateDict.of(module), saved -> StateDict.load(module, saved))}, which has
         * the buffers too.
         *
         * @param current gives them in the host's memory; those that change as the training goes on are copied
         * @param taker gives them other values, or throws an HvdException if they do not fit
         */
        public Builder model(
                Supplier<? extends SortedMap<String, Tensor>> current, Consumer<SortedMap<String, Tensor>> taker) {
            tensors = Objects.requireNonNull(current, "current");
            load = Objects.requireNonNull(taker, "taker");
            return this;
        }

        /** Adds a part whose state goes into the manifest, such as a sampler or an {@code EarlyStop}. */
        public Builder with(String name, Stateful part) {
            if (!name.matches("[a-z][a-z_]*") || List.of("config", "version").contains(name)) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "Checkpoints.with(\"" + name + "\"): expected lower-case letters and underscores, and not"
                                + " config or version");
            }
            stateful.put(name, Objects.requireNonNull(part, "part"));
            return this;
        }

        /** Adds a setting that a run which resumes must have too, such as the name of the data set; one line. */
        public Builder config(String key, String word) {
            if ((key + word).chars().anyMatch(Character::isISOControl)) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT,
                        "Checkpoints.config(\"" + key + "\", \"" + word + "\"): expected a single line");
            }
            config.put(key, word);
            return this;
        }

        /** Adds a version that is noted, and not compared; those of hvd and Java are there. */
        public Builder version(String key, String word) {
            versions.put(key, Objects.requireNonNull(word, key));
            return this;
        }

        /** Sets how many files are kept; older ones are deleted when a new one is whole. */
        public Builder keep(int files) {
            if (files < 1) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, "Checkpoints.keep(" + files + "): expected at least 1 file");
            }
            kept = files;
            return this;
        }

        /** Sets what all ranks do before the first one copies, such as {@code () -> sharded.consolidate(0)}. */
        public Builder after(Runnable collective) {
            together = Objects.requireNonNull(collective, "collective");
            return this;
        }

        Builder output(Output other) {
            output = other;
            return this;
        }

        /** Makes it; reads and writes nothing yet. */
        public Checkpoints build() {
            return new Checkpoints(this);
        }

        private ResumableParts parts() {
            return new ResumableParts(optimizer, tensors, load, stateful, config, versions);
        }
    }
}
