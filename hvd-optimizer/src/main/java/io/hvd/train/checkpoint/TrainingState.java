package io.hvd.train.checkpoint;

import io.hvd.ElasticState;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.data.ResumableSampler;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.AmpOptimizer;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.ElasticShares;
import io.hvd.optimizer.Optimizer;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import io.hvd.train.EpochMetrics;
import io.hvd.train.Training;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The state of a training in an elastic job: the model, the optimizer's state with its learning rate and loss scale, the place in the
 * data, and values of the program's own. It binds the optimizer to the ranks of each generation, and deals the rest of the epoch to them.
 *
 * <pre>{@code
 * var sampler = ElasticSampler.builder(train.size()).build();
 * var state = TrainingState.of(hvd -> DistributedOptimizer.wrap(sgd).build())
 *         .model(() -> StateDict.of(net), saved -> StateDict.load(net, saved))
 *         .with("sampler", sampler)
 *         .build();
 * Elastic.run(state, elastic -> train(elastic, state.optimizer(), sampler));
 * }</pre>
 *
 * <p>A step that was abandoned leaves no trace in what is a part of this: parts with words go back to the last commit, and the samples
 * of the step are drawn again. For the thread that trains.
 *
 * @param <O> the outermost optimizer
 */
public final class TrainingState<O extends Optimizer> implements ElasticState {
    private static final String BATCHES = "batches";

    private final Builder<O> built;
    private final TensorCopies copies = new TensorCopies();
    private final SamplesDrawn drawn;
    /** This rank's sums of an epoch under way, at the last commit of a loop. */
    private EpochMetrics metrics = new EpochMetrics();

    private int metricsEpoch;
    /** Batches of a loop, in all generations; several of them make one step where gradients are accumulated. */
    private long batches;
    /** Null before the first generation, as the next two. */
    private O optimizer;

    private ResumableParts parts;
    /** Empty unless the optimizer's state is shared out to the ranks. */
    private Optional<ElasticShares> shares = Optional.empty();
    /** The words of the last commit. */
    private Manifest committed;

    private TrainingState(Builder<O> builder) {
        this.built = builder;
        this.drawn = new SamplesDrawn(builder.stateful.values());
        builder.stateful.put(BATCHES, Field.plain(BATCHES, () -> batches, value -> batches = value));
    }

    /**
     * Begins a state.
     *
     * @param optimizer makes the optimizer, once in each process, in its first generation: a {@code DistributedOptimizer}, an {@code
     *     AmpOptimizer}, or one that steps without other ranks
     */
    public static <O extends Optimizer> Builder<O> of(Function<HvdContext, O> optimizer) {
        return new Builder<>(optimizer);
    }

    /** The optimizer, bound to the ranks of the generation under way; null before the first one. */
    public O optimizer() {
        return optimizer;
    }

    /**
     * Does what {@link ElasticState} says.
     *
     * @throws HvdException if a part of the state is on one rank only, so that it would be lost with it
     */
    @Override
    public void sync(HvdContext hvd, int root) {
        bind(hvd, root);
        drawn.deal(hvd);
        String mine = hvd.rank() == root ? words().encode() : null;
        Manifest roots = Manifest.decode(hvd.broadcastObject("training.words", mine, ObjectCodec.utf8(), root)
                .lines()
                .toList());
        parts.loadWords(roots);
        parts.broadcastTensors(hvd, root);
        drawn.compare(hvd);
        committed = roots; // not before: if another rank is lost meanwhile, this one keeps what it had
    }

    private void bind(HvdContext hvd, int root) {
        boolean isFirst = optimizer == null;
        if (isFirst) {
            optimizer = built.optimizer.apply(hvd);
            parts = built.parts(optimizer);
            Optional<DistributedOptimizer> distributed = ResumableParts.distributed(optimizer);
            requireWholeParameters(optimizer);
            distributed.ifPresent(TrainingState::requireSharedState);
            shares = distributed.flatMap(DistributedOptimizer::elasticShares);
        }
        shares.ifPresent(mine -> mine.gather(hvd, root, built.saved));
        if (!isFirst) {
            rebind(hvd);
        }
    }

    private static void requireWholeParameters(Optimizer optimizer) {
        if (ResumableParts.shards(optimizer).isPresent()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "a TrainingState of an optimizer of FullyShard: each rank has a shard of every parameter, which a rank that"
                            + " is lost takes with it, expected an optimizer of whole parameters. A job that is not elastic goes on"
                            + " by Checkpoints with everyRankWrites()");
        }
    }

    private void rebind(HvdContext hvd) {
        if (optimizer instanceof AmpOptimizer amp) {
            amp.rebind(hvd);
        } else if (optimizer instanceof DistributedOptimizer distributed) {
            distributed.rebind(hvd);
        }
    }

    private static void requireSharedState(DistributedOptimizer optimizer) {
        if (optimizer.isAdasum()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "a TrainingState of an optimizer with op(ADASUM): each rank makes its own step before the ranks combine"
                            + " them, so a step that is abandoned would have changed parameters. Take another operation, or"
                            + " a job that is not elastic");
        }
        if (!optimizer.localParameters().isEmpty()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "a TrainingState of an optimizer with localParameters(...) "
                            + new TreeSet<>(optimizer.localParameters())
                            + ": no other rank has them, so a rank that is lost takes them with it. Leave localParameters(...)"
                            + " out, or take a job that is not elastic");
        }
    }

    /** The words of all parts as they are now. */
    Manifest words() {
        return parts.manifest(0, 0, 0);
    }

    @Override
    public Runnable backup() {
        if (shares.isPresent()) {
            return parts.backup(copies, shares.get());
        }
        Checkpoint copy = parts.checkpoint(words(), copies);
        return () -> parts.look(copy).take().run();
    }

    @Override
    public void committed() {
        committed = words();
        shares.ifPresent(ElasticShares::committed);
    }

    @Override
    public void changing(HvdContext hvd) {
        shares.ifPresent(mine -> mine.handOver(hvd));
    }

    @Override
    public void abandoned() {
        if (committed == null) {
            return; // no generation has begun
        }
        drawn.note();
        optimizer.zeroGradients();
        parts.loadWords(committed);
    }

    @Override
    public String news() {
        String samples =
                drawn.again() == 0 ? "" : ", " + drawn.again() + " samples of the abandoned step are drawn again";
        return samples + shares.map(ElasticShares::news).orElse("");
    }

    /** How many samples the abandoned step had drawn that are drawn again in this generation; the same on all ranks. */
    public long samplesDrawnAgain() {
        return drawn.again();
    }

    /** The sampler that a loop goes by. @throws HvdException unless there is one */
    ResumableSampler sampler() {
        return drawn.only();
    }

    long batches() {
        return batches;
    }

    /** What this rank has added in earlier generations to the sums of an epoch. */
    EpochMetrics metrics(int epoch) {
        return epoch == metricsEpoch ? metrics : new EpochMetrics();
    }

    /** A loop is about to commit. */
    void loopCommits(Training training) {
        batches = training.steps();
        metrics = training.metrics().copy();
        metricsEpoch = training.epoch();
    }

    /** Settings of a {@link TrainingState}; the same on every rank. */
    public static final class Builder<O extends Optimizer> {
        private final Function<HvdContext, O> optimizer;
        private final SortedMap<String, Stateful> stateful = new TreeMap<>();
        /** Null for the optimizer's parameters, as the next one. */
        private Supplier<? extends SortedMap<String, Tensor>> tensors;

        private Consumer<SortedMap<String, Tensor>> load;
        private ElasticShares.Saved saved = taker -> OptionalLong.empty();

        private Builder(Function<HvdContext, O> optimizer) {
            this.optimizer = Objects.requireNonNull(optimizer, "optimizer");
        }

        /** Sets what the model's tensors are, as {@link CheckpointsBuilder#model} says. */
        public Builder<O> model(
                Supplier<? extends SortedMap<String, Tensor>> current, Consumer<SortedMap<String, Tensor>> taker) {
            tensors = Objects.requireNonNull(current, "current");
            load = Objects.requireNonNull(taker, "taker");
            return this;
        }

        /**
         * Names the folder of the job's {@link Checkpoints}. A {@code ShardedOptimizer} takes from the newest what a lost rank had of
         * the optimizer's state, which begins anew otherwise. Other optimizers need none.
         *
         * @param folder on a file system of all hosts: a rank with the most steps reads it
         */
        public Builder<O> checkpoints(Path folder) {
            saved = new SavedOptimizers(new CheckpointFolder(Objects.requireNonNull(folder, "folder")));
            return this;
        }

        /**
         * Adds a part with a state in words, such as an {@code EarlyStop}. A {@link ResumableSampler} is dealt to the ranks of each
         * generation.
         */
        public Builder<O> with(String name, Stateful part) {
            stateful.put(
                    ResumableParts.requireName("TrainingState.with", name, List.of("config", "version", BATCHES)),
                    Objects.requireNonNull(part, "part"));
            return this;
        }

        /**
         * Adds a value of the program's own, such as the best accuracy so far.
         *
         * @param current gives an int, a long, a double, a boolean or a String
         * @param taker is given that of another rank, or of the last commit
         */
        public <T> Builder<O> field(String name, Supplier<T> current, Consumer<T> taker) {
            return with(name, Field.plain(name, current, taker));
        }

        /** Adds a value of any type. */
        public <T> Builder<O> field(String name, Supplier<T> current, Consumer<T> taker, ObjectCodec<T> codec) {
            return with(name, new Field<>(current, taker, codec));
        }

        /** Makes it; the optimizer comes with the first generation. */
        public TrainingState<O> build() {
            return new TrainingState<>(this);
        }

        private ResumableParts parts(Optimizer made) {
            return new ResumableParts(
                    made,
                    tensors != null ? tensors : () -> ResumableParts.parameters(made),
                    load != null ? load : saved -> ResumableParts.overwrite(ResumableParts.parameters(made), saved),
                    stateful,
                    new TreeMap<>(),
                    new TreeMap<>(),
                    new TreeMap<>());
        }
    }
}
