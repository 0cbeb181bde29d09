package io.hvd.optimizer.djl;

import ai.djl.Device;
import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.TrainingConfig;
import ai.djl.training.TrainingResult;
import ai.djl.training.listener.EpochTrainingListener;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListener;
import io.hvd.HvdContext;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.BufferSync;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.DistributedOptimizerBuilder;
import io.hvd.optimizer.NamedBroadcast;
import io.hvd.optimizer.NamedState;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * A DJL trainer whose steps use the gradients of all ranks. It takes the place of {@code model.newTrainer(config)}, and everything else stays,
 * {@code EasyTrain.fit} and loops of the program's own included:
 *
 * <pre>{@code
 * DjlEngine.load(hvd);
 * Trainer trainer = DistributedTrainer.of(hvd, model, config);
 * }</pre>
 *
 * <p>All ranks begin with rank 0's parameters. In each step the gradients, which backward has left in DJL's memory, are averaged there,
 * and DJL's optimizer steps with the averages. Evaluators have the totals of all ranks at the end of an epoch, and what a
 * listener throws on one rank ends the training on all. {@code step()} and the end of an epoch are collectives: every rank
 * makes as many, as with a {@link RankSampler}.
 */
public final class DistributedTrainer extends Trainer {
    private final HvdContext hvd;
    private final ListenersTogether listeners;
    private final UpdateVote vote;
    private final ai.djl.training.optimizer.Optimizer given;
    private final UnaryOperator<DistributedOptimizerBuilder> settings;
    /** Null before the parameters have values. */
    private DjlOptimizer parameters;
    /** Null before the first step. */
    private DistributedOptimizer optimizer;

    /** The last gradient collector; null before the first one. */
    private CollectorTurn collector;

    private boolean backward;

    private DistributedTrainer(
            HvdContext hvd,
            Model model,
            TrainingConfig config,
            ListenersTogether listeners,
            UnaryOperator<DistributedOptimizerBuilder> settings) {
        super(model, new SharedConfig(config, List.of(listeners)));
        this.hvd = hvd;
        this.listeners = listeners;
        this.vote = new UpdateVote(hvd);
        this.given = config.getOptimizer();
        this.settings = settings;
    }

    /** Makes a trainer that averages gradients by the {@link DistributedOptimizer}'s defaults. */
    public static DistributedTrainer of(HvdContext hvd, Model model, TrainingConfig config) {
        return of(hvd, model, config, UnaryOperator.identity());
    }

    /**
     * Makes a trainer.
     *
     * @param settings of the exchange, such as {@code exchange -> exchange.compression(Compression.FP16)}
     * @throws HvdException if the configuration names several devices, or JavaCPP's LibTorch is in this process too
     */
    public static DistributedTrainer of(
            HvdContext hvd, Model model, TrainingConfig config, UnaryOperator<DistributedOptimizerBuilder> settings) {
        DjlEngine.requireAlone();
        requireOneDevice(config.getDevices());
        model.newTrainer(new SharedConfig(config, List.of()))
                .close(); // which sets initialisers, and thaws a loaded model
        var listeners = new ListenersTogether(hvd, config.getTrainingListeners());
        return new DistributedTrainer(hvd, model, config, listeners, settings);
    }

    private static void requireOneDevice(Device[] devices) {
        if (devices.length != 1 || devices[0].isGpu()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "the trainer has the devices " + List.of(devices) + ", expected " + Device.cpu()
                            + " alone: each rank computes on one, and hvd averages DJL's gradients in the host's memory."
                            + " Say optDevices(new Device[] {Device.cpu()}), and start a rank for each part of the host");
        }
    }

    /**
     * Gives the parameters values, and all ranks those of rank 0. A collective; without it the first forward calls it, with the shapes of its
     * input. DJL draws from one
     * generator per process: rank 0 draws when all ranks have come, and so have seeded it, and the others when rank 0 is done,
     * so that its values follow from the seed alone though other ranks may be threads beside it.
     */
    @Override
    public void initialize(Shape... shapes) {
        if (parameters != null) {
            super.initialize(shapes);
            return;
        }
        hvd.barrier();
        if (hvd.rank() == 0) {
            super.initialize(shapes);
        }
        hvd.barrier();
        if (hvd.rank() != 0) {
            super.initialize(shapes);
        }
        begin();
    }

    @Override
    public NDList forward(NDList input) {
        begin(input);
        return super.forward(input);
    }

    @Override
    public NDList forward(NDList data, NDList labels) {
        begin(data);
        return super.forward(data, labels);
    }

    /** DJL's first forward gives parameters values, by which this rank would compute before it has those of rank 0. */
    private void begin(NDList input) {
        if (parameters != null) {
            return;
        }
        if (getModel().getBlock().isInitialized()) {
            begin();
        } else if (collector != null && collector.isOpen()) {
            collector.without(() -> initialize(input.getShapes()));
        } else {
            initialize(input.getShapes());
        }
    }

    private void begin() {
        if (parameters == null && getModel().getBlock().isInitialized()) {
            parameters = new DjlOptimizer(given, BlockParameters.slots(getModel()));
            Map<String, Tensor> all = BlockParameters.values(getModel(), true);
            all.putAll(BlockParameters.values(getModel(), false));
            hvd.broadcastParameters(all, 0);
        }
    }

    /** The broadcast of the parameters comes before this rank's turn, which other ranks that are threads would wait for. */
    @Override
    public GradientCollector newGradientCollector() {
        begin();
        collector = CollectorTurn.take(super::newGradientCollector, () -> backward = true);
        return collector;
    }

    /**
     * Averages the gradients over the ranks and updates all parameters. Several backward passes before it add up, as in DJL.
     *
     * @throws HvdException if there was no backward since the last step; or, on all ranks, if their learning rates or optimizers differ
     * @throws RuntimeException on all ranks, if a listener has thrown since the last step on any; no parameter has been changed then
     */
    @Override
    public void step() {
        long begin = System.nanoTime();
        connect();
        parameters.gather();
        requireBackward();
        if (vote.anyHasThrown(listeners.haveThrown(), parameters.learningRate())) {
            listeners.meet();
        }
        optimizer.step();
        backward = false;
        addMetric("step", begin);
    }

    /** The gradients have a place from the first backward on. */
    private void connect() {
        if (optimizer != null) {
            return;
        }
        begin();
        if (parameters == null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "step() of a trainer whose parameters have no values: call initialize(shapes) and a forward first");
        }
        parameters.bindGradients();
        DistributedOptimizerBuilder builder =
                DistributedOptimizer.wrap(parameters).context(hvd);
        Map<String, Tensor> buffers = BlockParameters.values(getModel(), false);
        if (!buffers.isEmpty()) {
            builder.buffers(buffers).broadcastBuffers(BufferSync.everySteps(1));
        }
        optimizer = settings.apply(builder).build();
    }

    /** A program may also use a collector of the engine's own, of which this trainer learns nothing. */
    private void requireBackward() {
        if (!backward && parameters.hasNoGradient()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "step() without a backward since the last step: all gradients are zero. Call collector.backward(loss)"
                            + " within try (GradientCollector collector = trainer.newGradientCollector()) first");
        }
    }

    /** The optimizer that averages the gradients, for its figures and its clipping. Null before the first step. */
    public DistributedOptimizer optimizer() {
        return optimizer;
    }

    /**
     * Copies of what DJL's optimizer remembers, such as the momentum and the number of updates, which {@code model.save} does not contain.
     * It is the same on all ranks; one of them puts it into a file by {@code Checkpoint.withState}.
     */
    public NamedState optimizerState() {
        requireBegun("optimizerState()");
        return parameters.namedState().copy();
    }

    /**
     * A collective: gives all ranks' optimizers rank 0's state. It comes after {@code initialize(shapes)}.
     *
     * @param state of rank 0, as {@link #optimizerState} gave it for the same model and kind of optimizer, or the bytes of an older
     *     version in {@link NamedState#ofBytes}; on other ranks anything, null too
     * @throws HvdException if it does not fit
     */
    public void loadOptimizerState(NamedState state) {
        requireBegun("loadOptimizerState(...)");
        parameters.loadNamedState(NamedBroadcast.of(hvd, "djl.optimizer", state, 0, parameter -> true));
    }

    private void requireBegun(String call) {
        if (parameters == null) {
            throw new HvdException(ErrorId.OPTIMIZER_MISUSE, call + " comes after initialize(shapes)");
        }
    }

    @Override
    public TrainingResult getTrainingResult() {
        TrainingResult result = new TrainingResult();
        for (TrainingListener listener : listeners.listeners()) {
            if (listener instanceof EpochTrainingListener epochs) {
                result.setEpoch(epochs.getNumEpochs());
            } else if (listener instanceof EvaluatorTrainingListener evaluators) {
                result.setEvaluations(evaluators.getLatestEvaluations());
            }
        }
        return result;
    }

    @Override
    public void close() {
        if (optimizer != null) {
            optimizer.close();
        }
        super.close();
    }
}
