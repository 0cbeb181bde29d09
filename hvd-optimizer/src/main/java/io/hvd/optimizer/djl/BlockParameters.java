package io.hvd.optimizer.djl;

import ai.djl.Model;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The parameters of a DJL model whose block has values. */
final class BlockParameters {
    private BlockParameters() {}

    /** By the block's names, which contain the places of layers and so are the same on all ranks; a shared one counts once. */
    static Map<String, Parameter> named(Model model, boolean trained) {
        Map<String, Parameter> named = new LinkedHashMap<>();
        Set<String> known = new HashSet<>();
        for (Pair<String, Parameter> pair : model.getBlock().getParameters()) {
            if (pair.getValue().requiresGradient() == trained
                    && known.add(pair.getValue().getId())) {
                named.put(pair.getKey(), pair.getValue());
            }
        }
        return named;
    }

    /** Those that are trained. */
    static List<ParameterSlot> slots(Model model) {
        List<ParameterSlot> slots = new ArrayList<>();
        named(model, true).forEach((name, parameter) -> slots.add(new ParameterSlot(name, parameter)));
        return slots;
    }

    /** The memory of the values that are trained, or of those that a step changes without a gradient, as the running mean of a batch norm. */
    static Map<String, Tensor> values(Model model, boolean trained) {
        Map<String, Tensor> values = new LinkedHashMap<>();
        named(model, trained).forEach((name, one) -> values.put(name, DjlTensors.alias(name, one.getArray())));
        return values;
    }
}
