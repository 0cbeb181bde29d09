package io.hvd.optimizer;

import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.precision.ScalerState;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * Shares the state of an optimizer out to the ranks: each keeps the momentum and other buffers of its share of the parameters only.
 * It steps this share, and then every rank gets every parameter from the rank that stepped it. The weights are the very ones of
 * the optimizer without sharding.
 *
 * <p>It goes inside a {@link DistributedOptimizer}, which averages all gradients as ever; gradients and parameters stay whole on
 * every rank. Whole parameters are shared out, the largest first, each to the rank that has the fewest bytes so far. With LibTorch
 * it is {@code TorchOptimizer.sharded(...)}. One process set steps it, that of the {@code DistributedOptimizer}; it is not for a
 * time in which a rank has joined. An elastic job deals the state anew to the ranks of each generation, by {@link ElasticShares}.
 *
 * <p>(S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC 2020: the first stage,
 * called P<sub>os</sub>; torch calls it ZeroRedundancyOptimizer.)
 */
public class ShardedOptimizer implements Optimizer {
    private ProcessSet set;
    private final ShardedState state;
    private Dealing dealing;
    /** Of the dealing that follows when a state is loaded; 0 if the share stays. */
    private long following;

    private WholeState whole = WholeState.none();
    private boolean fresh = true;
    /** The beginning of the names of its collectives. */
    private String scope = "";

    private ShardedOptimizer(ProcessSet set, ShardedState state) {
        this.set = set;
        this.state = state;
        this.dealing = Dealing.to(set, state, 0);
    }

    private boolean isAlone() {
        return dealing.ranks() == 1;
    }

    /** For makers of optimizers; programs call {@link #ofArrays} or {@code TorchOptimizer.sharded}. */
    public static ShardedOptimizer of(ProcessSet set, ShardedState state) {
        return state instanceof GradientSource source
                ? new Announcing(set, state, source)
                : new ShardedOptimizer(set, state);
    }

    /**
     * Shares out an optimizer on plain arrays.
     *
     * @param set the ranks that the {@link DistributedOptimizer} averages over
     * @param make makes the optimizer on arrays, such as {@link Sgd} or {@link Adam}, over this rank's share, which may be empty;
     *     an elastic job calls it in each generation
     */
    public static ShardedOptimizer ofArrays(
            ProcessSet set, ArrayParameters parameters, Function<ArrayParameters, Optimizer> make) {
        return of(set, new ShardedArrays(parameters, make));
    }

    /**
     * Shares out parameters, the largest first, each to the rank that has the fewest bytes so far.
     *
     * @param bytes of each parameter
     * @return for each parameter a rank within the process set
     */
    public static int[] owners(int ranks, long... bytes) {
        int[] owners = new int[bytes.length];
        long[] load = new long[ranks];
        IntStream.range(0, bytes.length)
                .boxed()
                .sorted((a, b) -> Long.compare(bytes[b], bytes[a]))
                .forEach(parameter -> {
                    int least = IntStream.range(0, load.length)
                            .reduce((a, b) -> load[b] < load[a] ? b : a)
                            .orElseThrow();
                    owners[parameter] = least;
                    load[least] += bytes[parameter];
                });
        return owners;
    }

    /** Keeps the collectives of several optimizers apart. @param prefix what their names begin with */
    final void scope(String prefix) {
        scope = prefix;
    }

    /** Goes on with other ranks, of which each has the share that a rank of before had. */
    final void rebind(ProcessSet next) {
        boolean same = next.included() == set.included() && next.size() == set.size() && next.rank() == set.rank();
        if (!same) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "rebind(...) of a ShardedOptimizer: its state is shared out to " + set.size()
                            + " ranks, of which this was rank "
                            + set.rank() + ", and in the new context this is rank " + next.rank() + " of " + next.size()
                            + ". Call consolidate(root) and saveState() before the old context is closed, and load the state"
                            + " into an optimizer that is built in the new one");
        }
        set = next;
    }

    /** Each generation of an elastic job deals the state to its own ranks: all of them. */
    final void requireAllRanks(HvdContext next) {
        if (!set.included() || set.size() != next.size()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "a TrainingState with a ShardedOptimizer over the ranks " + set.ranks() + " of " + next.size()
                            + ": in an elastic job its state is shared out to all ranks. Give it the context that the"
                            + " function of TrainingState.of(hvd -> ...) is given");
        }
    }

    /** From now on steps are committed, and may be abandoned before. */
    final void keepsUntilCommit() {
        whole = whole.keeping();
    }

    final void committed() {
        dealing.committed();
        whole.committed();
    }

    final boolean hasWholeAtCommit() {
        return fresh || whole.atCommit() != null;
    }

    final byte[] wholeAtCommit() {
        return whole.atCommit() != null ? whole.atCommit() : saveState();
    }

    final void whole(byte[] joined) {
        whole.is(joined);
    }

    final Dealing dealing() {
        return dealing;
    }

    /** Goes on with other ranks. This rank keeps its share until the next {@link #loadState}, which takes one of a new dealing. */
    final void regroup(ProcessSet next, long number) {
        set = next;
        following = number;
    }

    final Runnable backup() {
        Dealing before = dealing;
        WholeState copy = whole.copy();
        boolean wasFresh = fresh;
        return () -> {
            dealing = before;
            whole = copy;
            fresh = wasFresh;
        };
    }

    /** The parameters, whose maker may have an arithmetic of its own for all gradients. */
    final ShardedState state() {
        return state;
    }

    @Override
    public final List<Parameter> parameters() {
        return state.parameters();
    }

    /** A collective: steps this rank's share, and gets the others'. */
    @Override
    public final void step() {
        whole.stepped();
        fresh = false;
        dealing.share().step();
        if (isAlone()) {
            return;
        }
        int[] owners = dealing.owners();
        List<Handle> handles = new ArrayList<>();
        for (int i = 0; i < owners.length; i++) {
            Parameter parameter = parameters().get(i);
            handles.add(set.broadcastInPlaceAsync(
                    scope + "sharded." + parameter.name(),
                    parameter.value(),
                    set.ranks().get(owners[i])));
        }
        handles.forEach(Handle::synchronize);
    }

    @Override
    public final void zeroGradients() {
        state.zeroGradients();
    }

    @Override
    public final double learningRate() {
        return dealing.share().learningRate();
    }

    @Override
    public final void learningRate(double rate) {
        dealing.share().learningRate(rate);
    }

    @Override
    public final Map<String, String> settings() {
        Map<String, String> settings = new TreeMap<>(dealing.share().settings());
        settings.put("ranks that share the state", String.valueOf(set.size()));
        return settings;
    }

    /** Bytes of the buffers (momentum and others) that this rank keeps by now; most optimizers make them in the first step. */
    public final long stateBytes() {
        return dealing.share().stateBytes();
    }

    /** The {@link #stateBytes} of all ranks. A collective. */
    public final long[] stateBytesOfRanks() {
        long mine = stateBytes();
        return isAlone()
                ? new long[] {mine}
                : (long[]) set.allgather(scope + "sharded.state.bytes", Tensor.of(new long[] {mine}))
                        .toArray();
    }

    /**
     * Brings the whole state to one rank, whose {@link #saveState} can then be called until the next step. A collective: every rank
     * calls it, and only the root needs memory for the whole.
     *
     * @param root global rank
     */
    public final void consolidate(int root) {
        byte[] mine = dealing.share().save();
        if (isAlone()) {
            whole.is(join(Arrays.asList(mine)));
            return;
        }
        List<byte[]> shares = JoinedShares.gather(set, scope + "sharded.state", mine, root);
        whole.is(shares.isEmpty() ? null : join(shares));
    }

    /** @param shares by rank; null for one that is not known and counts as fresh */
    private byte[] join(List<byte[]> shares) {
        return dealing.share().join(JoinedShares.of(dealing.owners(), shares, dealing.rank()));
    }

    /** A collective: whether the root can write the whole state, as after {@link #loadState}. */
    final boolean hasWhole(int root) {
        int[] has = {whole.now() != null || fresh ? 1 : 0};
        if (set.included() && set.size() > 1) {
            set.broadcastInPlace(scope + "sharded.state.whole", Tensor.of(has), root);
        }
        return has[0] == 1;
    }

    /**
     * The whole state, as the optimizer writes it that is not sharded: it may be loaded by either, with any number of ranks.
     *
     * @throws HvdException if there was a step since {@link #consolidate}, or this is not its root
     */
    @Override
    public final byte[] saveState() {
        if (whole.now() == null && fresh) {
            byte[][] shares = new byte[dealing.ranks()][];
            shares[dealing.rank()] = dealing.share().save();
            whole.is(join(Arrays.asList(shares)));
        }
        if (whole.now() == null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "saveState() on rank " + set.ranks().get(set.rank()) + " of " + set.size()
                            + ": this rank has its share of the state,"
                            + " " + stateBytes()
                            + " bytes, and not the whole. Call consolidate(root) on all ranks first,"
                            + " after the last step and with this rank as the root");
        }
        return whole.now().clone();
    }

    /** Takes this rank's share from a whole state. */
    @Override
    public final void loadState(byte[] wholeState) {
        Dealing taking = following == 0 ? dealing : dealing.next(set, state, following);
        taking.share().load(wholeState);
        dealing = taking;
        following = 0;
        whole.is(wholeState.clone());
        fresh = false;
    }

    /** That of this rank's share; for the whole, {@link #consolidate} comes before {@link #saveState}. */
    @Override
    public final NamedState namedState() {
        return dealing.share().named();
    }

    @Override
    public final boolean keepsStateOf(String parameter) {
        int[] owners = dealing.owners();
        return IntStream.range(0, owners.length)
                .anyMatch(i -> owners[i] == dealing.rank()
                        && parameters().get(i).name().equals(parameter));
    }

    /** Takes this rank's share from a state that has it, and maybe others. */
    @Override
    public final void loadNamedState(NamedState state) {
        if (state.bytes().isPresent()) {
            loadState(state.bytes().get());
            return;
        }
        dealing.share().load(state.only(this::keepsStateOf));
        whole.is(null);
        fresh = false;
    }

    @Override
    public final long fullStateBytes() {
        return dealing.share().fullStateBytes();
    }

    /** The bytes of a whole state, made by an optimizer over all parameters if these have names. */
    final byte[] wholeOf(NamedState state) {
        if (state.bytes().isPresent()) {
            byte[] bytes = state.bytes().get();
            return StateOwner.Mark.AMP.begins(bytes) ? ScalerState.split(bytes, new TreeMap<>()) : bytes;
        }
        int[] allMine = new int[parameters().size()];
        ShardedShare all = this.state.deal(allMine, 0);
        all.load(ScalerState.without(state));
        return all.join(JoinedShares.of(allMine, Arrays.asList(all.save()), 0));
    }

    /** Passes on what gradients announce during backward. */
    private static final class Announcing extends ShardedOptimizer implements GradientSource {
        private final GradientSource source;

        Announcing(ProcessSet set, ShardedState state, GradientSource source) {
            super(set, state);
            this.source = source;
        }

        @Override
        public void listen(Listener listener) {
            source.listen(listener);
        }

        @Override
        public void stage(int parameter) {
            source.stage(parameter);
        }

        @Override
        public void stageAll(List<Integer> parameters) {
            source.stageAll(parameters);
        }

        @Override
        public void stageKept(List<Integer> parameters) {
            source.stageKept(parameters);
        }

        @Override
        public boolean keepsUntilStaged() {
            return source.keepsUntilStaged();
        }

        @Override
        public void requireInPlace() {
            source.requireInPlace();
        }

        @Override
        public void multiplyAccumulated(double factor) {
            source.multiplyAccumulated(factor);
        }

        @Override
        public void arrived() {
            source.arrived();
        }

        @Override
        public Optional<Tensor> ownGradient(int parameter) {
            return source.ownGradient(parameter);
        }

        @Override
        public void adopt() {
            source.adopt();
        }

        @Override
        public boolean addsToLastStep() {
            return source.addsToLastStep();
        }

        @Override
        public boolean hasNewGradient() {
            return source.hasNewGradient();
        }
    }
}
