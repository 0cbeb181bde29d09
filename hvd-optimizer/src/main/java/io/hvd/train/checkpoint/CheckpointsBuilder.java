package io.hvd.train.checkpoint;

import io.hvd.ProcessSet;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.ModelShards;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Settings of a series of {@link Checkpoints}. It begins with the last three kept. */
public final class CheckpointsBuilder {
    private final Path folder;
    private final ProcessSet ranks;
    private final Optimizer optimizer;
    private final SortedMap<String, Stateful> stateful = new TreeMap<>();
    private final SortedMap<String, String> config = new TreeMap<>();
    private final SortedMap<String, String> versions = new TreeMap<>();
    private Supplier<? extends SortedMap<String, Tensor>> tensors;
    private Consumer<SortedMap<String, Tensor>> load;
    private boolean namesModel;
    private Runnable together = () -> {};
    private boolean copiesAlone = true;
    private boolean everyRank;
    private final SortedMap<String, String> renames = new TreeMap<>();
    private int kept = 3;
    private SeriesFiles.Output output = Checkpoint::write;

    CheckpointsBuilder(Path folder, ProcessSet ranks, Optimizer optimizer) {
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
    public CheckpointsBuilder model(
            Supplier<? extends SortedMap<String, Tensor>> current, Consumer<SortedMap<String, Tensor>> taker) {
        tensors = Objects.requireNonNull(current, "current");
        load = Objects.requireNonNull(taker, "taker");
        namesModel = true;
        return this;
    }

    /** Adds a part whose state goes into the manifest, such as a sampler or an {@code EarlyStop}. */
    public CheckpointsBuilder with(String name, Stateful part) {
        stateful.put(
                ResumableParts.requireName("Checkpoints.with", name, List.of("config", "version", "optimizer")),
                Objects.requireNonNull(part, "part"));
        return this;
    }

    /** Adds a setting that a run which resumes must have too, such as the name of the data set; one line. */
    public CheckpointsBuilder config(String key, String word) {
        if ((key + word).chars().anyMatch(Character::isISOControl)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "Checkpoints.config(\"" + key + "\", \"" + word + "\"): expected a single line");
        }
        config.put(key, word);
        return this;
    }

    /** Adds a version that is noted, and not compared; those of hvd and Java are there. */
    public CheckpointsBuilder version(String key, String word) {
        versions.put(key, Objects.requireNonNull(word, key));
        return this;
    }

    /**
     * Sets how many checkpoints are kept; older ones are deleted when a new one is whole. With {@link Integer#MAX_VALUE} all are. {@link
     * Checkpoints#requireWritable} asks for the room of these and one more.
     */
    public CheckpointsBuilder keep(int files) {
        if (files < 1) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "Checkpoints.keep(" + files + "): expected at least 1 file");
        }
        kept = files;
        return this;
    }

    /** Sets what all ranks do before the first one copies, such as {@code () -> sharded.consolidate(0)}; a resume does it too. */
    public CheckpointsBuilder after(Runnable collective) {
        together = Objects.requireNonNull(collective, "collective");
        copiesAlone = false;
        return this;
    }

    /**
     * Has each rank write its share, {@code model-00001-of-00004.safetensors}, into a folder for each checkpoint, with an index that
     * Hugging Face's libraries read. Tensors are shared out by their bytes; of an optimizer that is shared out each rank writes what
     * it keeps, and needs no {@link #after}; of one of {@code FullyShard} it writes its shards, and there is no {@link #model}. Any number of
     * ranks goes on from it, each of which reads what it needs. The folder is on a file system of all hosts.
     */
    public CheckpointsBuilder everyRankWrites() {
        everyRank = true;
        return this;
    }

    /** Gives a parameter that had another name in older checkpoints the one that it has now, in model and optimizer. */
    public CheckpointsBuilder renamed(String oldName, String newName) {
        renames.put(oldName, Objects.requireNonNull(newName, "newName"));
        return this;
    }

    CheckpointsBuilder output(SeriesFiles.Output other) {
        output = other;
        return this;
    }

    /**
     * Makes it; reads and writes nothing yet.
     *
     * @throws HvdException if the optimizer has local parameters, of which the folder would have the first rank's only, or is
     *     one of {@code FullyShard} and {@link #everyRankWrites} was not called, or {@link #model} or {@link #renamed} was, or other
     *     ranks have its shards
     */
    public Checkpoints build() {
        requireSharedState();
        ResumableParts.shards(optimizer).ifPresent(this::requireShardsAlone);
        return new Checkpoints(this);
    }

    private void requireShardsAlone(ModelShards shards) {
        if (!shards.ranks().equals(ranks.ranks())) {
            throw misuse(
                    "the ranks " + shards.ranks() + " have its shards, and the ranks " + ranks.ranks()
                            + " were to save them: expected the same. Give Checkpoints.in(...) the process set of FullyShard.over(...)");
        }
        if (!everyRank) {
            throw misuse(
                    "each rank has a shard of every parameter, so each of them has to write. Call everyRankWrites()");
        }
        if (namesModel) {
            throw misuse("the parameters are in its shards, and no rank has the whole model(...). Leave that out");
        }
        if (!renames.isEmpty()) {
            throw misuse(
                    "the layout of the shards is found by the parameters' names, so that none can be renamed(...), as "
                            + renames
                            + " are. Load the old names and save FullyShard.stateDict(root), which loadStateDict takes");
        }
    }

    private HvdException misuse(String how) {
        return new HvdException(
                ErrorId.OPTIMIZER_MISUSE, "checkpoints in " + folder + " of an optimizer of FullyShard: " + how);
    }

    private void requireSharedState() {
        Set<String> local = ResumableParts.distributed(optimizer)
                .map(DistributedOptimizer::localParameters)
                .orElse(Set.of());
        if (!local.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "checkpoints in " + folder + " of an optimizer with localParameters(...) " + new TreeSet<>(local)
                            + ": their values and state are each rank's own, and the folder would have the first rank's only. Save"
                            + " them on each rank by Checkpoint.withState and write");
        }
    }

    ProcessSet ranks() {
        return ranks;
    }

    Runnable together() {
        return together;
    }

    Saving saving() {
        return everyRank ? new EveryRankSaving(this) : new FirstRankSaving(this);
    }

    /** Whether the first rank needs no other one for a copy. */
    boolean copiesAlone() {
        return copiesAlone;
    }

    SeriesFiles files() {
        return new SeriesFiles(new CheckpointFolder(folder), kept, output);
    }

    ResumableParts parts() {
        return new ResumableParts(optimizer, tensors, load, stateful, config, versions, renames);
    }
}
