package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Node;
import org.bytedeco.pytorch.Tensor;

/**
 * When the units of a model are gathered, freed, and their gradients sent off.
 * <pre>
 *   forward    gather 1 | compute 1, gather 2 ahead | free 1 | compute 2, gather 3 ahead | free 2 | ...
 *   backward   gather 3 | compute 3, gather 2 ahead | free 3, send its gradients | compute 2, gather 1 ahead | ...
 * </pre>
 * At most one unit is gathered ahead, and the gradients of one are on their way. LibTorch runs nodes that were made last first, so when
 * backward comes to a unit, it is through with all that were called after it.
 *
 * <p>A step changes the shards. The names of the collectives that gather say whether the number of steps before is even, so that what a rank has
 * gathered ahead for one step never meets what another gathers in the next.
 *
 * <p>(Y. Zhao et al., "PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel", VLDB 2023, section 3.)
 */
public final class ShardPasses {
    private final Ranks ranks;
    private final boolean freesAfterForward;
    private final boolean gathersAhead;
    private final Map<String, ShardUnit> units = new LinkedHashMap<>();
    private final UnitOrder<ShardUnit> order = new UnitOrder<>();
    private final BlockPool pool = new BlockPool();
    /** The units whose forward runs, the innermost first. */
    private final Deque<ShardUnit> running = new ArrayDeque<>();
    /** The nodes of the units' outputs since the last pass, by their addresses. */
    private final Set<Long> outputs = new HashSet<>();
    /** The unit that is gathered ahead; null if none is. */
    private ShardUnit ahead;
    /** Whether the calling thread, or LibTorch's for it, is in {@link #backward}. */
    private volatile boolean isBackward;

    private boolean rootIsCalled;
    private long version;
    private boolean closed;
    private long mostBytes;

    public ShardPasses(Ranks ranks, boolean freesAfterForward, boolean gathersAhead) {
        this.ranks = ranks;
        this.freesAfterForward = freesAfterForward;
        this.gathersAhead = gathersAhead;
    }

    void add(ShardUnit unit) {
        units.put(unit.name(), unit);
    }

    BlockPool pool() {
        return pool;
    }

    public List<ShardUnit> units() {
        return List.copyOf(units.values());
    }

    /** A unit by its name. @throws HvdException if there is none, or all are closed */
    public ShardUnit unit(String name) {
        requireOpen();
        ShardUnit unit = units.get(name);
        if (unit == null) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the FullyShard on " + ranks.here() + " has no unit \"" + name + "\", expected one of "
                            + units.keySet() + ": add it by unit(\"" + name + "\", module) on all ranks");
        }
        return unit;
    }

    public void requireOpen() {
        if (closed) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the FullyShard on " + ranks.here() + " is closed, and its parameters are freed: close it after"
                            + " the last forward, step and state");
        }
    }

    /**
     * Runs a unit's forward with its parameters there.
     *
     * @return what the body returns, each with a node of its own in the graph
     */
    public List<Tensor> forward(ShardUnit unit, Supplier<List<Tensor>> body) {
        requireOpen();
        unit.requireTrainedAsMade();
        boolean wasGathered = unit.isGathered();
        gather(unit);
        gatherAhead(calledAfter(unit));
        unit.calledWithin(running);
        running.push(unit);
        List<Tensor> results;
        try {
            results = body.get();
            results.stream().filter(Tensor::requires_grad).forEach(output -> requireComputed(unit, output));
        } catch (RuntimeException | Error e) {
            failed(unit, wasGathered);
            throw e;
        } finally {
            running.pop();
        }
        results = results.stream().map(this::withOwnNode).toList();
        List<Tensor> watched = results.stream().filter(Tensor::requires_grad).toList();
        watched.forEach(unit::watch);
        boolean stays = wasGathered || !watched.isEmpty() && (unit.isRoot() || !freesAfterForward);
        if (!stays) {
            unit.free();
        }
        return results;
    }

    /**
     * A unit that returns its input, as a layer that is dropped, returns the output of another unit, which backward must come to after this one.
     * Other outputs are no views, so that what follows may change them in place.
     */
    private Tensor withOwnNode(Tensor output) {
        if (!output.requires_grad() || outputs.add(node(output))) {
            return output;
        }
        Tensor view = output.view_as(output);
        outputs.add(node(view));
        return view;
    }

    private static long node(Tensor output) {
        try (Node node = output.grad_fn()) {
            return node.address();
        }
    }

    private Optional<ShardUnit> calledAfter(ShardUnit unit) {
        boolean hasGraph = GradMode.is_enabled() && !isBackward;
        if (unit.isRoot()) {
            rootIsCalled |= hasGraph;
            return order.first();
        }
        return order.called(unit, hasGraph);
    }

    private static void requireComputed(ShardUnit unit, Tensor output) {
        if (output.is_leaf()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "forward of unit \"" + unit.name() + "\" returns a parameter or an input that is trained, expected"
                            + " what it computes of them");
        }
    }

    /** The program may go on with another batch, if all ranks have failed alike. */
    private void failed(ShardUnit unit, boolean wasGathered) {
        if (!wasGathered) {
            unit.free();
        }
        if (!isBackward) {
            order.forget();
            rootIsCalled = false;
        }
    }

    private void gather(ShardUnit unit) {
        unit.gather(version);
        if (ahead == unit) {
            ahead = null;
        }
        measure();
    }

    private void gatherAhead(Optional<ShardUnit> next) {
        if (gathersAhead && ahead == null && next.isPresent() && !next.get().isGathered()) {
            ahead = next.get();
            ahead.prefetch(version);
            measure();
        }
    }

    /** Runs a backward pass, after which this rank has its shards of the averaged gradients, added to those of earlier passes. */
    public void backward(Runnable pass) {
        requireOpen();
        isBackward = true;
        try {
            pass.run();
            isBackward = false;
            finish();
        } catch (RuntimeException | Error e) {
            abandon();
            throw e;
        } finally {
            isBackward = false;
        }
    }

    /** Runs what a hook does; the gradients of a backward that nobody waits for would be lost. */
    void guarded(Runnable hook) {
        if (!closed && isBackward) {
            hook.run();
            measure();
            return;
        }
        throw new HvdException(
                ErrorId.OPTIMIZER_MISUSE,
                "backward through a unit of the FullyShard on " + ranks.here()
                        + (closed
                                ? ", which is closed"
                                : " outside of it: call shard.backward(loss) instead of" + " loss.backward()"));
    }

    /** Called by LibTorch before it runs backward what has computed an output of the unit. */
    void backwardReaches(ShardUnit unit) {
        if (!unit.isRoot()) {
            through(unit);
        }
        gather(unit);
        unit.reach();
        if (!unit.isRoot()) {
            gatherAhead(order.reached(unit));
        }
    }

    /** Backward is through with all units that it has come to before this one, but for the root and those that have called this one. */
    private void through(ShardUnit unit) {
        for (ShardUnit other : units.values()) {
            if (other != unit && !other.isRoot() && other.isReached() && !unit.isCalledWithin(other)) {
                other.free();
                if (other.isToReduce() && other.isThrough()) {
                    send(other);
                }
            }
        }
    }

    /** One unit's gradients travel at a time, or memory would be needed for all. */
    private void send(ShardUnit unit) {
        units.values().stream().filter(ShardUnit::isReducing).forEach(ShardUnit::reduced);
        unit.reduce();
    }

    private void finish() {
        Set<ShardUnit> left = new LinkedHashSet<>(order.called());
        units.values().stream()
                .filter(unit -> unit.isTouched() || unit.isRoot() && rootIsCalled)
                .forEach(left::add);
        for (ShardUnit unit : left) {
            unit.free();
            if (unit.isToReduce()) {
                send(unit);
            }
        }
        units.values().forEach(ShardUnit::reduced);
        free();
        order.passed();
        rootIsCalled = false;
    }

    /** Frees whatever is gathered. A collective where a unit is gathered ahead. */
    private void free() {
        outputs.clear();
        if (ahead != null) {
            ahead.dropPrefetched();
            ahead = null;
        }
        units.values().forEach(unit -> {
            unit.free();
            unit.pass();
        });
    }

    private void abandon() {
        outputs.clear();
        order.forget();
        rootIsCalled = false;
        units.values().forEach(ShardUnit::abandon);
    }

    /** The shards are about to change on all ranks: what has been gathered of them is worth nothing. */
    public void stepBegins() {
        forgetPass();
        version++;
    }

    /**
     * As {@link #stepBegins}, where the shards may change on some ranks only, as in an attempt to load that fails on others. The next names of
     * collectives stay as they are, since these ranks would call them otherwise than the others.
     */
    void forgetPass() {
        requireOpen();
        free();
        order.forget();
        rootIsCalled = false;
    }

    private void measure() {
        mostBytes = Math.max(mostBytes, bytesPresent());
    }

    /** Bytes of gathered parameters and of gradients that this rank holds now, beside its shards. */
    public long bytesPresent() {
        return units.values().stream().mapToLong(ShardUnit::bytesPresent).sum();
    }

    /** The most that {@link #bytesPresent} has been. */
    public long mostBytes() {
        return mostBytes;
    }

    public boolean isOpen() {
        return !closed;
    }

    public void close() {
        if (!closed) {
            closed = true;
            units.values().forEach(ShardUnit::close);
            pool.close();
        }
    }
}
