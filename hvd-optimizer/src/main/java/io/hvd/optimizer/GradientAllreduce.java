package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.Handle;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How the gradients of one optimizer are combined.
 *
 * @param options over the ranks
 * @param localReduction over the backward passes of this rank
 * @param scope what the names of its tensors begin with
 */
record GradientAllreduce(ProcessSet set, AllreduceOptions options, LocalReduction localReduction, String scope) {

    /**
     * Sends gradients off as a group.
     *
     * @param passes number of backward passes whose sum each of them is
     * @return one handle per parameter
     */
    List<Handle> start(List<Parameter> members, int passes) {
        Map<String, Tensor> gradients = new LinkedHashMap<>();
        members.forEach(member -> gradients.put(scope + member.name(), member.gradient()));
        return set.allreduceInPlaceAsync(
                gradients,
                localReduction == LocalReduction.MEAN ? options.withPrescale(options.prescale() / passes) : options);
    }
}
