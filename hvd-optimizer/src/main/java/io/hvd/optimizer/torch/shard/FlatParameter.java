package io.hvd.optimizer.torch.shard;

import io.hvd.Handle;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.tensor.Shape;
import java.util.List;
import java.util.TreeMap;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Parameters of a unit as one vector, of which this rank keeps a shard and has the whole only between {@link #gather} and {@link #free}. The
 * module's parameters are views of the whole. The optimizer steps the shard, which has the type that the parameters had; the whole may
 * have another one, in which the unit computes.
 *
 * <p>Used by the thread that runs forward, or by LibTorch's thread for backward, one at a time.
 */
public final class FlatParameter {
    private final String name;
    private final String unit;
    private final FlatLayout layout;
    private final Ranks ranks;
    private final List<Tensor> parameters;
    private final ScalarType computeType;
    private final Tensor shard;
    private final FlatStorage storage;
    private final BlockPool pool;
    private final FlatGradient gradient;

    /** The whole that is being gathered; null if none is. */
    private Gathering coming;

    /** @param input kept until the ranks have read it; null if there is one rank */
    private record Gathering(Handle handle, Tensor whole, Tensor input) {}

    private FlatParameter(
            String unit, String name, List<Member> members, Ranks ranks, ScalarType computeType, BlockPool pool) {
        this.unit = unit;
        this.name = name;
        this.layout = FlatLayout.of(
                members.stream().map(Member::names).toList(),
                members.stream()
                        .map(member -> TensorViews.shape(member.tensor()))
                        .toList(),
                ranks.size());
        this.ranks = ranks;
        this.pool = pool;
        this.parameters = members.stream()
                .map(member -> (Tensor) member.tensor().retainReference())
                .toList();
        Tensor first = parameters.get(0);
        this.computeType = computeType;
        this.shard = cut(first.requires_grad());
        this.storage = new FlatStorage(
                layout.padded(),
                computing(),
                "the parameters of unit \"" + unit
                        + "\" are not gathered, each rank has its shard of them only: they are"
                        + " there within FullyShard.forward(\"" + unit + "\", ...) and the backward of its output",
                pool);
        this.gradient = new FlatGradient(unit, name, layout, ranks, pool, parameters, shard, computing());
    }

    /** The options of a tensor of the type in which the unit computes. */
    private TensorOptions computing() {
        return parameters.get(0).options().dtype(new ScalarTypeOptional(computeType));
    }

    /** A parameter of the module and all of its names. */
    record Member(List<String> names, Tensor tensor) {}

    /**
     * Shares out parameters, all of one type and on one device, with the values that the first rank has.
     *
     * @param name of the flat parameter, in collectives and states
     */
    static FlatParameter of(
            String unit, String name, List<Member> members, Ranks ranks, ScalarType computeType, BlockPool pool) {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            FlatParameter made = new FlatParameter(unit, name, members, ranks, computeType, pool);
            made.becomeViews();
            return made;
        }
    }

    /** This rank's part of the first rank's values, as a tensor of its own. */
    private Tensor cut(boolean trainable) {
        Tensor whole = pool.take(layout.padded(), parameters.get(0).options());
        whole.zero_();
        for (int i = 0; i < parameters.size(); i++) {
            FlatLayout.Entry entry = layout.entries().get(i);
            whole.narrow(0, entry.offset(), entry.elements())
                    .copy_(parameters.get(i).detach().reshape(-1));
        }
        ranks.broadcast(name + ".initial", whole, 0);
        Tensor mine = part(whole).clone();
        mine.set_requires_grad(trainable);
        pool.give(whole);
        return mine.retainReference();
    }

    private Tensor part(Tensor whole) {
        return whole.narrow(0, layout.shard() * ranks.rank(), layout.shard());
    }

    private void becomeViews() {
        for (int i = 0; i < parameters.size(); i++) {
            FlatLayout.Entry entry = layout.entries().get(i);
            Tensor parameter = parameters.get(i);
            parameter.mutable_grad().put(new Tensor());
            parameter.set_data(
                    storage.view(entry.offset(), entry.elements(), entry.shape().toArray()));
        }
    }

    public String name() {
        return name;
    }

    public String unit() {
        return unit;
    }

    public FlatLayout layout() {
        return layout;
    }

    /** This rank's shard, a vector; what the optimizer steps. */
    public Tensor shard() {
        return shard;
    }

    List<Tensor> parameters() {
        return parameters;
    }

    boolean isTrainable() {
        return shard.requires_grad();
    }

    /** What is trained was settled when the unit was made. @throws HvdException if requires_grad of a parameter has been changed since */
    void requireTrainedAsMade() {
        for (int i = 0; i < parameters.size(); i++) {
            if (parameters.get(i).requires_grad() != isTrainable()) {
                throw new HvdException(
                        ErrorId.OPTIMIZER_MISUSE,
                        "parameter " + layout.entries().get(i).names() + " of unit \"" + unit + "\" on " + ranks.here()
                                + " has requires_grad " + !isTrainable() + ", expected " + isTrainable()
                                + " as when the unit was made: freeze parameters, or train them, before unit(...) or"
                                + " root(...)");
            }
        }
    }

    boolean isGathered() {
        return storage.isPresent();
    }

    /** Bytes of the whole and its gradient that this rank holds now, beside its shard. */
    long bytesPresent() {
        return storage.bytesPresent() + (coming == null ? 0 : coming.whole.nbytes()) + gradient.bytesPresent();
    }

    /** Starts to gather the whole, if it is neither there nor on its way. @param version in the names, see {@code ShardPasses} */
    void prefetch(long version) {
        if (isGathered() || coming != null) {
            return;
        }
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor plain = shard.detach();
            Tensor mine = plain.scalar_type().value == computeType.value ? plain : plain.to(computeType);
            Tensor whole = pool.take(layout.padded(), computing());
            if (ranks.areSeveral()) {
                Handle handle = ranks.gather(name + ".gather" + version % 2, mine, whole);
                coming = new Gathering(handle, whole, mine.retainReference());
            } else {
                whole.copy_(mine);
                coming = new Gathering(null, whole, null);
            }
        }
    }

    /** A collective: from here on the module has its parameters. */
    void gather(long version) {
        if (isGathered()) {
            return;
        }
        prefetch(version);
        Tensor whole = arrived();
        storage.fill(whole);
        whole.releaseReference(); // which has no memory any more
    }

    /** The whole that was on its way; to be released. */
    private Tensor arrived() {
        Gathering done = coming;
        coming = null;
        try {
            if (done.handle != null) {
                Ranks.await(done.handle, unit, Ranks.alias(name, done.whole));
            }
            return done.whole;
        } finally {
            release(done.input);
        }
    }

    /** Frees the whole; its views in the module and in autograd stay, without memory. */
    void free() {
        storage.release();
    }

    /** A collective: waits for a whole that has been gathered ahead and is not needed. */
    void dropPrefetched() {
        if (coming != null) {
            pool.give(arrived());
        }
    }

    /** What backward brings; only of a flat parameter that is trained. */
    FlatGradient gradient() {
        return gradient;
    }

    /** The parameters' parts of a whole, by each of their names. */
    TreeMap<String, Tensor> named(Tensor whole) {
        TreeMap<String, Tensor> parts = new TreeMap<>();
        for (FlatLayout.Entry entry : layout.entries()) {
            Tensor part = whole.narrow(0, entry.offset(), entry.elements())
                    .view(entry.shape().toArray());
            entry.names().forEach(each -> parts.put(each, part));
        }
        return parts;
    }

    /** The shape of each parameter, by each of its names. */
    TreeMap<String, Shape> shapes() {
        TreeMap<String, Shape> shapes = new TreeMap<>();
        layout.entries().forEach(entry -> entry.names().forEach(each -> shapes.put(each, entry.shape())));
        return shapes;
    }

    Ranks ranks() {
        return ranks;
    }

    /** Frees all that it holds; the module's parameters then have no elements to read. */
    void close() {
        gradient.close();
        if (coming != null) {
            Gathering left = coming;
            coming = null;
            Ranks.whenDone(left.handle, List.of(left.whole));
            if (left.input != null) {
                Ranks.whenDone(left.handle, List.of(left.input));
            }
        }
        storage.close();
        shard.releaseReference();
        parameters.forEach(Tensor::releaseReference);
    }

    private static void release(Tensor tensor) {
        if (tensor != null) {
            tensor.releaseReference();
        }
    }
}
