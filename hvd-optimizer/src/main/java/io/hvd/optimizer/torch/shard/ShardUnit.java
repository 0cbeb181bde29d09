package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.parameter.DistinctParameters;
import io.hvd.optimizer.torch.shard.FlatParameter.Member;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A part of a model whose parameters are gathered and freed together: those that are trained as one flat parameter, frozen ones as another. */
public final class ShardUnit {
    private final String name;
    private final boolean isRoot;
    private final List<FlatParameter> flats;
    private final TreeMap<String, Tensor> buffers;
    private final UnitHooks hooks;
    /** The units in whose forward this one has been called: backward comes to the rest of theirs after it. */
    private final Set<ShardUnit> around = new LinkedHashSet<>();
    /** Outputs of this pass through which backward is to come to it. */
    private int watched;
    /** How many times backward has come to an output in this pass. */
    private int come;
    /** Whether a parameter has got a gradient in this pass. */
    private boolean hasGradient;
    /** Whether the gradients of this pass have been sent off. */
    private boolean sent;

    private ShardUnit(
            String name,
            boolean isRoot,
            List<FlatParameter> flats,
            TreeMap<String, Tensor> buffers,
            ShardPasses passes) {
        this.name = name;
        this.isRoot = isRoot;
        this.flats = flats;
        this.buffers = buffers;
        List<Tensor> parameters =
                flats.stream().flatMap(flat -> flat.parameters().stream()).toList();
        this.hooks = UnitHooks.of(
                parameters,
                () -> passes.guarded(() -> passes.backwardReaches(this)),
                () -> passes.guarded(this::gradientComes));
    }

    /**
     * Shares out the parameters of a module that are in no other unit. A collective.
     *
     * @param taken the units of the parameters that are shared out already, by the parameters' identity
     */
    static ShardUnit of(
            String name,
            boolean isRoot,
            Module module,
            Map<Long, String> taken,
            Ranks ranks,
            ScalarType computeType,
            ShardPasses passes) {
        String prefix = isRoot ? "" : name + ".";
        Map<Long, Member> members = members(prefix, module, isRoot ? taken : Map.of());
        UnitCheck.requireUsable(name, List.copyOf(members.values()), taken);
        UnitCheck.requireSame(ranks, name, List.copyOf(members.values()), computeType);
        List<FlatParameter> flats = new ArrayList<>();
        for (boolean trains : new boolean[] {true, false}) {
            List<Member> some = members.values().stream()
                    .filter(member -> member.tensor().requires_grad() == trains)
                    .toList();
            if (!some.isEmpty()) {
                ScalarType type = some.get(0).tensor().scalar_type().intern();
                String flatName = prefix + (trains ? "flat_param" : "frozen_flat_param");
                flats.add(FlatParameter.of(
                        name, flatName, some, ranks, computeType == null ? type : computeType, passes.pool()));
            }
        }
        TreeMap<String, Tensor> buffers = new TreeMap<>();
        TensorViews.references(module.named_buffers()).forEach((buffer, tensor) -> {
            if (taken.putIfAbsent(DistinctParameters.identity(tensor), name) == null) {
                ranks.broadcast(prefix + buffer + ".initial", tensor, 0);
                buffers.put(prefix + buffer, tensor.retainReference());
            }
        });
        members.keySet().forEach(identity -> taken.put(identity, name));
        return new ShardUnit(name, isRoot, flats, buffers, passes);
    }

    /** The module's parameters with all of their names, in the order of the first of these. */
    private static Map<Long, Member> members(String prefix, Module module, Map<Long, String> without) {
        Map<Long, Member> members = new LinkedHashMap<>();
        TensorViews.references(module.named_parameters()).forEach((parameter, tensor) -> {
            long identity = DistinctParameters.identity(tensor);
            if (!without.containsKey(identity)) {
                members.computeIfAbsent(identity, first -> new Member(new ArrayList<>(), tensor))
                        .names()
                        .add(prefix + parameter);
            }
        });
        return members;
    }

    public String name() {
        return name;
    }

    boolean isRoot() {
        return isRoot;
    }

    public List<FlatParameter> flats() {
        return flats;
    }

    /** The flat parameter that is trained, if there is one. */
    public Optional<FlatParameter> trained() {
        return flats.stream().filter(FlatParameter::isTrainable).findFirst();
    }

    /** Its buffers, such as running statistics, which every rank has whole. */
    TreeMap<String, Tensor> buffers() {
        return buffers;
    }

    /** Where there are no parameters there is nothing to gather, and no hook that lives as long as they do. */
    void watch(Tensor output) {
        if (!flats.isEmpty()) {
            hooks.watch(output);
            watched++;
        }
    }

    private void gradientComes() {
        if (GradMode.is_enabled()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "backward with create_graph through unit \"" + name + "\" of a FullyShard: its gradients travel and"
                            + " are freed, and have no gradient of their own. Call backward without create_graph");
        }
        if (sent) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "backward comes to unit \"" + name + "\" of a FullyShard once more after it has averaged the unit's"
                            + " gradients of this pass. Compute with the unit's parameters within its forward only, and"
                            + " call backward once for each loss if there was a backward between their forwards");
        }
        trained().orElseThrow().gradient().collect();
        hasGradient = true;
    }

    /** Its forward runs within those of other units. */
    void calledWithin(Collection<ShardUnit> others) {
        around.addAll(others);
    }

    boolean isCalledWithin(ShardUnit other) {
        return around.contains(other);
    }

    /** Backward has come to an output. */
    void reach() {
        come++;
    }

    boolean isReached() {
        return come > 0;
    }

    /**
     * Whether backward has come to all outputs of this pass. They are the same on all ranks, unlike the parameters that have got a gradient, where a
     * branch or an expert is called on some ranks only.
     */
    boolean isThrough() {
        return watched > 0 && come == watched;
    }

    /** @throws HvdException if a parameter was frozen or thawed since the unit was made */
    void requireTrainedAsMade() {
        flats.forEach(FlatParameter::requireTrainedAsMade);
    }

    void gather(long version) {
        flats.forEach(flat -> flat.prefetch(version)); // both travel at once
        flats.forEach(flat -> flat.gather(version));
    }

    void prefetch(long version) {
        flats.forEach(flat -> flat.prefetch(version));
    }

    void dropPrefetched() {
        flats.forEach(FlatParameter::dropPrefetched);
    }

    boolean isGathered() {
        return flats.stream().allMatch(FlatParameter::isGathered);
    }

    void free() {
        flats.forEach(FlatParameter::free);
    }

    /** Whether backward has come to it, or to any of its parameters. */
    boolean isTouched() {
        return come > 0 || hasGradient;
    }

    /** Whether it has gradients, or should have, that have not been sent off in this pass. */
    boolean isToReduce() {
        return trained().isPresent() && !sent;
    }

    /** Sends the gradients off. */
    void reduce() {
        sent = true;
        trained().ifPresent(flat -> flat.gradient().reduce());
    }

    boolean isReducing() {
        return flats.stream().anyMatch(flat -> flat.gradient().isReducing());
    }

    void reduced() {
        flats.forEach(flat -> flat.gradient().reduced());
    }

    /** This pass is over. */
    void pass() {
        watched = 0;
        come = 0;
        hasGradient = false;
        sent = false;
    }

    void abandon() {
        pass();
        free();
        flats.forEach(flat -> flat.gradient().abandon());
    }

    long bytesPresent() {
        return flats.stream().mapToLong(FlatParameter::bytesPresent).sum();
    }

    /** The shapes of all parameters, by each of their names. */
    TreeMap<String, Shape> shapes() {
        TreeMap<String, Shape> shapes = new TreeMap<>();
        flats.forEach(flat -> shapes.putAll(flat.shapes()));
        return shapes;
    }

    void close() {
        flats.forEach(FlatParameter::close);
        buffers.values().forEach(Tensor::releaseReference);
    }
}
