package io.hvd.train.checkpoint;

import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.data.ResumableSampler;
import io.hvd.data.Stateful;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.ReduceOp;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/** Deals the samplers of a training to the ranks of each generation, and counts the samples that are drawn again. */
final class SamplesDrawn {
    private final List<ResumableSampler> samplers;
    /** Samples of each sampler that this rank has seen drawn, over all epochs. */
    private final long[] most;

    private long again;

    SamplesDrawn(Collection<Stateful> parts) {
        samplers = parts.stream()
                .filter(ResumableSampler.class::isInstance)
                .map(ResumableSampler.class::cast)
                .toList();
        most = new long[samplers.size()];
    }

    void deal(HvdContext hvd) {
        samplers.forEach(sampler -> sampler.deal(hvd.size(), hvd.rank()));
    }

    /** Before the samplers go back to the last commit. */
    void note() {
        for (int i = 0; i < most.length; i++) {
            most[i] = Math.max(most[i], drawn(samplers.get(i)));
        }
    }

    private static long drawn(ResumableSampler sampler) {
        return (long) sampler.epoch() * sampler.datasetSize() + Math.round(sampler.done() * sampler.datasetSize());
    }

    /** When the samplers are where all ranks go on. A collective. */
    void compare(HvdContext hvd) {
        if (samplers.isEmpty()) {
            return;
        }
        hvd.allreduceInPlace("training.samples", Tensor.of(most), AllreduceOptions.of(ReduceOp.MAX));
        again = 0;
        for (int i = 0; i < most.length; i++) {
            again += Math.max(0, most[i] - drawn(samplers.get(i)));
        }
        Arrays.fill(most, 0);
    }

    long again() {
        return again;
    }

    ResumableSampler only() {
        if (samplers.size() != 1) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    "CommitState needs a TrainingState with one sampler, such as an ElasticSampler, by which its loop goes, found "
                            + samplers.size() + ". Add it by with(\"sampler\", sampler)");
        }
        return samplers.get(0);
    }
}
