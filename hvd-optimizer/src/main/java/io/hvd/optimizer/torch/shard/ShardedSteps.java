package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.ModelShards;
import io.hvd.optimizer.NamedState;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.StateSize;
import io.hvd.optimizer.torch.parameter.GroupRates;
import io.hvd.optimizer.torch.parameter.TorchSettings;
import io.hvd.optimizer.torch.state.MomentsArchive;
import io.hvd.optimizer.torch.state.TorchBuffers;
import io.hvd.tensor.ElementRun;
import io.hvd.tensor.Shape;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Steps this rank's shards: a LibTorch optimizer for each unit, all made alike.
 *
 * <p>{@link #saveState} is the state of this rank's shards, and says of which rank, so that no other one takes it. {@link #namedState} has the
 * shards themselves too, and any number of ranks loads those of all.
 */
public final class ShardedSteps implements ModelShards {
    /** The one setting of {@link TorchSettings} that says nothing here. */
    private static final String COUNT = "parameters";

    private final ShardPasses passes;
    private final Ranks ranks;
    private final ShardedNorm norm;
    private final Map<FlatParameter, Optimizer> optimizers = new LinkedHashMap<>();
    private final Map<FlatParameter, TorchBuffers> buffers = new LinkedHashMap<>();
    private final List<GroupRates> rates = new ArrayList<>();
    private boolean madeMoments;
    private long stepsMade;

    /**
     * @param make makes the optimizer over the shards of a unit, of which there is one
     * @throws HvdException if there is nothing to train, or it does not step the shards that it is given
     */
    public ShardedSteps(ShardPasses passes, Ranks ranks, ShardedNorm norm, Function<TensorVector, Optimizer> make) {
        this.passes = passes;
        this.ranks = ranks;
        this.norm = norm;
        passes.units().stream().flatMap(unit -> unit.trained().stream()).forEach(flat -> {
            Optimizer optimizer = make.apply(new TensorVector(flat.shard()));
            requireOneShard(flat, optimizer);
            optimizers.put(flat, optimizer);
            buffers.put(flat, TorchBuffers.ofOne(optimizer, flat.name()));
            rates.add(new GroupRates(optimizer));
        });
        if (optimizers.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the units " + passes.units().stream().map(ShardUnit::name).toList()
                            + " of the FullyShard have no parameter that needs a gradient, so there is nothing to train."
                            + " Expected at least one with requires_grad");
        }
    }

    private static void requireOneShard(FlatParameter flat, Optimizer optimizer) {
        long groups = optimizer.param_groups().size();
        long members = groups == 1 ? optimizer.param_groups().get(0).params().size() : -1;
        if (members != 1) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "FullyShard.optimizer(...) expects for each unit an optimizer with one parameter group of the shard that"
                            + " the function is given, found for unit \"" + flat.unit() + "\" " + groups + " groups"
                            + (groups == 1 ? " of " + members + " parameters" : ""));
        }
    }

    /** The shards, by the names of their flat parameters. */
    @Override
    public List<Parameter> parameters() {
        passes.requireOpen();
        return optimizers.keySet().stream()
                .map(flat -> {
                    Tensor gradient = flat.shard().grad();
                    io.hvd.tensor.Tensor value =
                            Ranks.alias(flat.name(), flat.shard().detach());
                    return new Parameter(
                            flat.name(),
                            value,
                            gradient.defined()
                                    ? Ranks.alias(flat.name(), gradient)
                                    : io.hvd.tensor.Tensor.zeros(value.dtype(), value.shape()));
                })
                .toList();
    }

    /** A collective where the job refuses gradients that are not finite. */
    @Override
    public void step() {
        passes.stepBegins();
        norm.beforeStep();
        optimizers.values().forEach(this::step);
        madeMoments = true;
        stepsMade++;
        ranks.set().markStep();
    }

    @Override
    public long stepsMade() {
        return stepsMade;
    }

    /** Between the moments that the first step makes, what it needs in passing leaves holes in glibc's heap: the system gets their pages. */
    private void step(Optimizer optimizer) {
        optimizer.step().close();
        if (!madeMoments) {
            Pointer.trimMemory();
        }
    }

    @Override
    public void zeroGradients() {
        passes.requireOpen();
        optimizers.keySet().forEach(flat -> flat.gradient().zero());
    }

    @Override
    public double learningRate() {
        passes.requireOpen();
        return rates.get(0).first();
    }

    @Override
    public void learningRate(double rate) {
        passes.requireOpen();
        rates.forEach(each -> each.set(rate));
    }

    @Override
    public Map<String, String> settings() {
        passes.requireOpen();
        Map<String, String> settings =
                new TreeMap<>(TorchSettings.of(optimizers.values().iterator().next()));
        settings.remove(COUNT);
        settings.put("ranks that share the parameters", String.valueOf(ranks.size()));
        return settings;
    }

    /**
     * The moments of a flat parameter's shard by their names, such as exp_avg, and the count of steps; none before the first step, or of what is
     * frozen. They are the optimizer's own as far as they lie in the host's memory.
     */
    SortedMap<String, io.hvd.tensor.Tensor> moments(FlatParameter flat) {
        SortedMap<String, io.hvd.tensor.Tensor> moments = new TreeMap<>();
        if (buffers.containsKey(flat)) {
            buffers.get(flat).state().tensors().forEach((name, tensor) -> {
                moments.put(name.substring(0, name.indexOf('.')), tensor);
            });
        }
        return moments;
    }

    /** Takes over moments. @throws HvdException if they do not fit */
    void moments(FlatParameter flat, SortedMap<String, io.hvd.tensor.Tensor> moments) {
        TorchBuffers own = buffers.get(flat);
        SortedMap<String, io.hvd.tensor.Tensor> named = new TreeMap<>();
        moments.forEach((moment, tensor) -> named.put(NamedState.name(moment, flat.name()), tensor));
        own.load(new NamedState(named, own.state().words()));
    }

    /** Bytes of {@link #moments} behind the first steps. */
    long fullMomentBytes(FlatParameter flat) {
        return buffers.containsKey(flat) ? buffers.get(flat).fullBytes() : 0;
    }

    /** LibTorch's optimizer by its name. */
    String kind() {
        return optimizers.values().iterator().next().getClass().getSimpleName();
    }

    private ShardState state() {
        passes.requireOpen();
        return new ShardState(passes, ranks, this);
    }

    @Override
    public NamedState namedState() {
        return state().named();
    }

    /** @throws HvdException if there are several ranks, each of which has its shards only */
    @Override
    public NamedState wholeState() {
        if (ranks.size() > 1) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "wholeState() of a FullyShard on " + ranks.here() + ": each rank has its shards only. Save them by"
                            + " Checkpoints, FullyShard.shards() on each rank, or FullyShard.stateDict(root) without the"
                            + " optimizer's state");
        }
        return namedState();
    }

    @Override
    public List<Integer> ranks() {
        return ranks.set().ranks();
    }

    @Override
    public Optional<ElementRun> needs(String tensor, Shape shape) {
        return state().parts().needs(tensor, shape);
    }

    /** Takes this rank's shards from those of all ranks, as far as {@link #needs} says. */
    @Override
    public void loadNamedState(NamedState saved) {
        prepareLoad(saved).run();
    }

    @Override
    public Runnable prepareLoad(NamedState saved) {
        return state().prepareLoad(saved);
    }

    @Override
    public long fullStateBytes() {
        return state().fullBytes();
    }

    private StateOwner owner() {
        return StateOwner.ofLines(
                "FullyShard of " + kind() + ", " + ranks.here(),
                optimizers.keySet().stream()
                        .map(flat -> flat.name() + " " + flat.layout().elements() + " elements, layout "
                                + flat.layout().fingerprint())
                        .toList());
    }

    /** The state of this rank's shards, which the same rank of as many loads. */
    @Override
    public byte[] saveState() {
        passes.requireOpen();
        List<byte[]> saved =
                optimizers.values().stream().map(MomentsArchive::save).toList();
        long length = saved.stream()
                .mapToLong(each -> Integer.BYTES + (long) each.length)
                .sum();
        ByteBuffer all = ByteBuffer.allocate(StateSize.require("a FullyShard", length));
        saved.forEach(each -> all.putInt(each.length).put(each));
        return owner().head(StateOwner.Mark.FULLY_SHARDED, all.array());
    }

    @Override
    public void loadState(byte[] state) {
        passes.requireOpen();
        ByteBuffer all = ByteBuffer.wrap(owner().rest(StateOwner.Mark.FULLY_SHARDED, state));
        List<byte[]> saved = new ArrayList<>();
        try {
            for (int i = 0; i < optimizers.size(); i++) {
                byte[] each = new byte[Math.min(all.getInt(), all.remaining())];
                all.get(each);
                saved.add(each);
            }
        } catch (BufferUnderflowException | NegativeArraySizeException e) {
            throw StateOwner.mismatch("its " + state.length + " bytes end within the " + optimizers.size() + " shards");
        }
        List<FlatParameter> flats = List.copyOf(optimizers.keySet());
        for (int i = 0; i < flats.size(); i++) {
            MomentsArchive.load(optimizers.get(flats.get(i)), flats.get(i).name(), saved.get(i));
        }
    }

    /** Frees the optimizers and their moments. */
    public void close() {
        buffers.values().forEach(TorchBuffers::close);
        optimizers.values().forEach(Optimizer::releaseReference);
    }

    /** Of all shards that have one. */
    static Stream<FlatParameter> withGradient(ShardPasses passes) {
        return passes.units().stream()
                .flatMap(unit -> unit.trained().stream())
                .filter(flat -> flat.shard().grad().defined());
    }
}
