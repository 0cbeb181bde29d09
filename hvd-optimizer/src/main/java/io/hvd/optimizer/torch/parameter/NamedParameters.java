package io.hvd.optimizer.torch.parameter;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.StateOwner;
import io.hvd.optimizer.torch.memory.TensorViews;
import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerParamGroupVector;
import org.bytedeco.pytorch.StringTensorDict;
import org.bytedeco.pytorch.StringTensorDictItemVector;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * The trainable parameters of a model in the order of their names. One that several modules share is here once, under its first name.
 */
public final class NamedParameters {
    /**
     * A trainable parameter.
     *
     * @param stepped what the optimizer steps: the value itself, or a float32 copy of it
     */
    public record Named(String name, Tensor value, Tensor stepped) {}

    private final List<Named> all;
    /** The names by the identity of what is stepped. */
    private final Map<Long, String> names = new HashMap<>();

    private NamedParameters(List<Named> all) {
        this.all = List.copyOf(all);
        all.forEach(one -> names.put(DistinctParameters.identity(one.stepped), one.name));
    }

    /** @param stepped gives what the optimizer steps for a parameter */
    public static NamedParameters of(StringTensorDict named, UnaryOperator<Tensor> stepped) {
        List<Named> all = new ArrayList<>();
        Set<Long> known = new HashSet<>();
        StringTensorDictItemVector items = named.items();
        for (long i = 0; i < items.size(); i++) {
            // A reference of our own: the one in the dictionary goes when the caller's dictionary does.
            Tensor value = new Tensor(items.get(i).access());
            if (value.requires_grad() && known.add(DistinctParameters.identity(value))) {
                all.add(new Named(items.get(i).key().getString(), value, stepped.apply(value)));
            }
        }
        Reference.reachabilityFence(named); // which owns the items, and may be the program's last reference
        return new NamedParameters(all);
    }

    /** Names the parameters by their parameter group and their place in it. */
    public static StringTensorDict byPlace(Optimizer inner) {
        StringTensorDict names = new StringTensorDict();
        OptimizerParamGroupVector groups = inner.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            TensorVector members = groups.get(i).params();
            for (long j = 0; j < members.size(); j++) {
                // A reference of its own, because the dictionary takes away the one that it is given.
                Tensor member = new Tensor(members.get(j));
                names.insert(new BytePointer("allreduce.noname." + i + "." + j), member);
            }
        }
        return names;
    }

    /** Those of them that an optimizer steps; the others are another optimizer's, or nobody's. */
    public NamedParameters steppedBy(Optimizer inner) {
        Set<Long> stepped = trained(inner).keySet();
        return new NamedParameters(all.stream()
                .filter(one -> stepped.contains(DistinctParameters.identity(one.stepped)))
                .toList());
    }

    public List<Named> all() {
        return all;
    }

    /** The name of what is stepped, for messages. */
    public String nameOf(Tensor stepped) {
        return names.getOrDefault(DistinctParameters.identity(stepped), "a frozen parameter");
    }

    /**
     * Has an optimizer step each parameter once, and requires that every one that it steps has a name here: its gradient would never be
     * averaged otherwise.
     *
     * @throws HvdException also if one is in two parameter groups
     */
    public void requireSteppedOnce(Optimizer inner) {
        Map<Long, String> trained = trained(inner);
        DistinctParameters.in(inner, this::nameOf);
        requireNamed(trained);
    }

    private void requireNamed(Map<Long, String> trained) {
        Map<Long, String> unnamed = new LinkedHashMap<>(trained);
        names.keySet().forEach(unnamed::remove);
        if (!unnamed.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the optimizer steps " + trained.size()
                            + " trainable parameters, and the names given are missing for "
                            + unnamed.size() + " of them, whose gradients would never be averaged: " + unnamed.values()
                            + ". Expected the named_parameters() of everything that it steps");
        }
    }

    /** Requires that there is a parameter to train. @param named the model's names */
    public void requireTrainable(StringTensorDict named) {
        if (all.isEmpty()) {
            long count = named.size();
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the module has no parameter that needs a gradient and is stepped by this optimizer, so there is nothing to train: "
                            + (count == 0
                                    ? "it has none at all"
                                    : "all " + count + " are frozen or not in the optimizer, \""
                                            + named.items().get(0).key().getString() + "\" the first")
                            + ". Expected at least one with requires_grad");
        }
    }

    /** The trainable parameters that an optimizer steps, by their identity, with their places in words. */
    private static Map<Long, String> trained(Optimizer optimizer) {
        Map<Long, String> all = new LinkedHashMap<>();
        OptimizerParamGroupVector groups = optimizer.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            TensorVector members = groups.get(i).params();
            for (long j = 0; j < members.size(); j++) {
                Tensor member = members.get(j);
                if (member.requires_grad()) {
                    all.putIfAbsent(
                            DistinctParameters.identity(member),
                            "number " + j + " of group " + i + " with shape " + TensorViews.shape(member));
                }
            }
        }
        return all;
    }

    /** A parameter that several modules share may be meant by any of its names. */
    public static Set<String> firstNames(StringTensorDict named, Collection<String> names) {
        Map<Long, String> firsts = new HashMap<>();
        Set<String> found = new HashSet<>();
        StringTensorDictItemVector items = named.items();
        for (long i = 0; i < items.size() && !names.isEmpty(); i++) {
            String name = items.get(i).key().getString();
            String first = firsts.computeIfAbsent(
                    DistinctParameters.identity(items.get(i).access()), identity -> name);
            if (names.contains(name)) {
                found.add(first);
            }
        }
        names.stream().filter(name -> !named.contains(name)).forEach(found::add); // which are refused later
        return Set.copyOf(found);
    }

    /** @throws HvdException if one of the names, which are said to have sparse gradients, is none of these */
    public void requireKnown(Set<String> sparse) {
        Set<String> unknown = new TreeSet<>(sparse);
        all.forEach(one -> unknown.remove(one.name));
        if (!unknown.isEmpty()) {
            throw new HvdException(
                    ErrorId.OPTIMIZER_MISUSE,
                    "the parameters " + unknown
                            + " are said to have sparse gradients, and there are none of these names"
                            + " among the " + all.size() + " that are trained, \""
                            + all.get(0).name
                            + "\" the first");
        }
    }

    /**
     * Lines of a {@link StateOwner} in the order in which LibTorch's archive numbers the parameters of an optimizer.
     *
     * @param parameters these ones, in the same order
     */
    public List<String> numbered(Optimizer inner, List<Parameter> parameters) {
        Map<Long, String> known = new HashMap<>();
        for (int i = 0; i < all.size(); i++) {
            known.put(DistinctParameters.identity(all.get(i).stepped), StateOwner.line(parameters.get(i)));
        }
        List<String> lines = new ArrayList<>();
        OptimizerParamGroupVector groups = inner.param_groups();
        for (long i = 0; i < groups.size(); i++) {
            if (i > 0) {
                lines.add("parameter group " + i);
            }
            TensorVector members = groups.get(i).params();
            for (long j = 0; j < members.size(); j++) {
                lines.add(line(members.get(j), known));
            }
        }
        return lines;
    }

    private static String line(Tensor member, Map<Long, String> known) {
        String line = known.get(DistinctParameters.identity(member));
        return line != null ? line : "frozen " + member.scalar_type().intern() + TensorViews.shape(member);
    }
}
