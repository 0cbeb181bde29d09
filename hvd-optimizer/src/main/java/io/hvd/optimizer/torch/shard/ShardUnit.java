package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.parameter.DistinctParameters;
import io.hvd.optimizer.torch.shard.FlatParameter.Member;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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
    /** Which trained parameters have got a gradient in this pass. */
    private final BitSet arrived = new BitSet();

    private final int trained;
    /** Whether backward has come by in this pass. */
    private boolean reached;
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
        this.trained = trained().map(flat -> flat.parameters().size()).orElse(0);
        List<Tensor> parameters =
                flats.stream().flatMap(flat -> flat.parameters().stream()).toList();
        List<Runnable> comes = new ArrayList<>();
        for (int i = 0; i < trained; i++) {
            int place = i;
            comes.add(() -> passes.guarded(() -> gradientComes(place)));
        }
        this.hooks = UnitHooks.of(parameters, () -> passes.guarded(() -> passes.backwardReaches(this)), comes);
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
        }
    }

    private void gradientComes(int place) {
        if (GradMode.is_enabled()) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "backward with create_graph through unit \"" + name + "\" of a FullyShard: its gradients travel and"
                            + " are freed, and have no gradient of their own. Call backward without create_graph");
        }
        trained().orElseThrow().gradient().collect();
        arrived.set(place);
    }

    /** Backward has come by. */
    void reach() {
        reached = true;
    }

    boolean isReached() {
        return reached;
    }

    /** Whether every trained parameter has its gradient of this pass. */
    boolean hasAllGradients() {
        return trained > 0 && arrived.cardinality() == trained;
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
        return reached || !arrived.isEmpty();
    }

    /** Whether it has gradients, or should have, that have not been sent off in this pass. */
    boolean isToReduce() {
        return trained > 0 && !sent;
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
        reached = false;
        sent = false;
        arrived.clear();
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
