package io.hvd.optimizer;

import io.hvd.Handle;
import io.hvd.HvdContext;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.precision.ScalerState;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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

    ShardedOptimizer(ProcessSet set, ShardedState state) {
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
                ? new AnnouncingShards(set, state, source)
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
                            + ". Call consolidate(root) and wholeState() before the old context is closed, and load the state"
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

    final NamedState wholeAtCommit() {
        return whole.atCommit() != null ? whole.atCommit() : freshWhole();
    }

    final Dealing dealing() {
        return dealing;
    }

    /** Goes on with other ranks. This rank keeps its share until the next {@link #loadNamedState}, which takes one of a new dealing. */
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
     * Brings the whole state to one rank, whose {@link #wholeState} can then be called until the next step. A collective: every rank
     * calls it, and only the root needs memory for the whole.
     *
     * @param root global rank
     */
    public final void consolidate(int root) {
        if (isAlone()) {
            return;
        }
        List<NamedState> shares = NamedGather.of(set, scope + "sharded.state", share(), root);
        whole.is(shares.isEmpty() ? null : dealing.join(shares));
    }

    /** That of this rank, in memory of its own where a step must not change it. */
    private NamedState share() {
        NamedState mine = dealing.share().named();
        return whole.keeps() ? mine.copy() : mine;
    }

    /** All ranks get the whole state. A collective. */
    final void shareWithAll(String name) {
        List<NamedState> shares = new ArrayList<>();
        NamedState mine = share();
        for (int rank = 0; rank < set.size(); rank++) {
            int root = set.ranks().get(rank);
            shares.add(NamedBroadcast.of(set, name + "." + rank, mine, root, parameter -> true));
        }
        whole.is(dealing.join(shares));
    }

    /** A collective: whether the root can give the whole state, as after {@link #loadState}. */
    final boolean hasWhole(int root) {
        int[] has = {whole.now() != null || fresh ? 1 : 0};
        if (set.included() && set.size() > 1) {
            set.broadcastInPlace(scope + "sharded.state.whole", Tensor.of(has), root);
        }
        return has[0] == 1;
    }

    /**
     * The state as the optimizer gives it that is not sharded: it may be loaded by either, with any number of ranks.
     *
     * @throws HvdException if there was a step since {@link #consolidate}, or this is not its root
     */
    @Override
    public final NamedState wholeState() {
        if (isAlone()) {
            return namedState();
        }
        if (whole.now() == null && !fresh) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the whole state on rank " + set.ranks().get(set.rank()) + " of " + set.size()
                            + ": this rank has its share,"
                            + " " + stateBytes()
                            + " bytes, and not the whole. Call consolidate(root) on all ranks first,"
                            + " after the last step and with this rank as the root");
        }
        return whole.now() != null ? whole.now() : freshWhole();
    }

    /** The state before the first step, with this rank's learning rate. */
    private NamedState freshWhole() {
        return new NamedState(
                dealtToOne().named().tensors(), dealing.share().named().words());
    }

    /** An optimizer over all parameters. */
    private ShardedShare dealtToOne() {
        return state.deal(new int[parameters().size()], 0);
    }

    /**
     * The bytes of {@link #wholeState}, as the optimizer writes them that is not sharded.
     *
     * @throws HvdException as it does, or if no array is as long
     */
    @Override
    public final byte[] saveState() {
        if (isAlone()) {
            return dealing.share().save();
        }
        ShardedShare all = dealtToOne();
        all.load(wholeState());
        return all.save();
    }

    /** Takes this rank's share from a whole state. */
    @Override
    public final void loadState(byte[] wholeState) {
        loadNamedState(NamedState.ofBytes(wholeState));
    }

    /** That of this rank's share; for the whole, {@link #consolidate} comes before {@link #wholeState}. */
    @Override
    public final NamedState namedState() {
        return dealing.share().named();
    }

    /** Also of all parameters, while an elastic job deals the state anew: who has the whole can give it if another rank is lost meanwhile. */
    @Override
    public final boolean keepsStateOf(String parameter) {
        return following != 0 || dealing.owns(parameter);
    }

    /**
     * Takes this rank's share from a state that has it. If it has the others' too, this rank can give them theirs by {@link
     * DistributedOptimizer#broadcastOptimizerState} before the next step.
     */
    @Override
    public final void loadNamedState(NamedState given) {
        NamedState loaded = given.bytes().isPresent() ? wholeOf(given) : given;
        Dealing taking = following == 0 ? dealing : dealing.next(set, state, following);
        boolean isWhole = given.bytes().isPresent() || following != 0 || taking.hasOthers(loaded);
        taking.share().load(loaded.only(taking::owns));
        dealing = taking;
        following = 0;
        whole.is(isWhole ? loaded : null);
        fresh = false;
    }

    @Override
    public final long fullStateBytes() {
        return dealing.share().fullStateBytes();
    }

    /**
     * The whole state in one that was saved, checked by an optimizer over all parameters.
     *
     * @param saved its tensors or its bytes, maybe with those of a scaler around it
     * @throws HvdException if it is another optimizer's
     */
    final NamedState wholeOf(NamedState saved) {
        ShardedShare all = dealtToOne();
        all.load(saved.bytes()
                .filter(StateOwner.Mark.AMP::begins)
                .map(bytes -> NamedState.ofBytes(ScalerState.split(bytes, new TreeMap<>())))
                .orElseGet(() -> ScalerState.without(saved)));
        return all.named();
    }
}
