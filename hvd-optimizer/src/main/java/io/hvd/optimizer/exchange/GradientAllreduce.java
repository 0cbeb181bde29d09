package io.hvd.optimizer.exchange;

import io.hvd.AllreduceOptions;
import io.hvd.Compression;
import io.hvd.ProcessSet;
import io.hvd.optimizer.LocalReduction;
import io.hvd.optimizer.Parameter;
import io.hvd.tensor.ReduceOp;
import java.util.List;
import java.util.function.Predicate;

/**
 * Gradients that are combined by allreduces.
 *
 * @param options over the ranks
 * @param localReduction over the backward passes of this rank
 * @param alwaysFp32 says whose gradients travel as they are, whatever the options say
 * @param scope what the names of its tensors begin with
 */
public record GradientAllreduce(
        ProcessSet set,
        AllreduceOptions options,
        LocalReduction localReduction,
        Predicate<Parameter> alwaysFp32,
        String scope)
        implements GradientReduction {

    @Override
    public BucketReduction prepare(int bucket, List<Parameter> members, int passes) {
        return new PreparedBucket(set.prepareAllreduce(
                members.stream().map(member -> scope + member.name()).toList(),
                members.stream().map(Parameter::gradient).toList(),
                members.stream().map(member -> options(member, passes)).toList()));
    }

    @Override
    public boolean isSum() {
        return options.op() == ReduceOp.SUM;
    }

    @Override
    public boolean travelsLate() {
        return set.forOptimizers().stepsTravelLate();
    }

    private AllreduceOptions options(Parameter member, int passes) {
        AllreduceOptions own = alwaysFp32.test(member) ? options.withCompression(Compression.NONE) : options;
        return localReduction == LocalReduction.MEAN ? own.withPrescale(own.prescale() / passes) : own;
    }
}
