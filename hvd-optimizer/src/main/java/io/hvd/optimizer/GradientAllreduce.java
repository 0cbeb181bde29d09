package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.PreparedAllreduce;
import io.hvd.ProcessSet;
import java.util.List;

/**
 * How the gradients of one optimizer are combined.
 *
 * @param options over the ranks
 * @param localReduction over the backward passes of this rank
 * @param scope what the names of its tensors begin with
 */
record GradientAllreduce(ProcessSet set, AllreduceOptions options, LocalReduction localReduction, String scope) {

    /** This reduction for gradients that travel in their own type. */
    GradientAllreduce uncompressed() {
        return new GradientAllreduce(set, options.withCompression(Compression.NONE), localReduction, scope);
    }

    /**
     * Prepares the allreduce of gradients that travel together.
     *
     * @param passes number of backward passes whose sum each of them is
     */
    PreparedAllreduce prepare(List<Parameter> members, int passes) {
        return set.prepareAllreduce(
                members.stream().map(member -> scope + member.name()).toList(),
                members.stream().map(Parameter::gradient).toList(),
                localReduction == LocalReduction.MEAN ? options.withPrescale(options.prescale() / passes) : options);
    }
}
