package io.hvd.benchmarks.rank;

import org.bytedeco.pytorch.BoolVector;
import org.bytedeco.pytorch.LongVector;
import org.bytedeco.pytorch.ProcessGroup;
import org.bytedeco.pytorch.Reducer;
import org.bytedeco.pytorch.SizeTStringMap;
import org.bytedeco.pytorch.SizeTVector;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;

/**
 * The reducer that averages the gradients in LibTorch's DistributedDataParallel, by hooks in backward. As in Python, there
 * is one bucket in the first step, after which the reducer builds buckets in the order in which the gradients became
 * ready. Buckets in the order of the layers would all wait for the first layer's.
 */
final class DdpReducer implements AutoCloseable {
    /** The default of torch.nn.parallel. */
    private static final long BUCKET_BYTES = 25L << 20;

    private static final long FIRST_BUCKET_BYTES = 1 << 20;

    private final ProcessGroup group;
    private final Reducer reducer;

    DdpReducer(TensorVector parameters, ProcessGroup group) {
        this.group = group;
        // The number alone would be the length of the vector.
        SizeTVector noLimit = new SizeTVector(new long[] {Long.MAX_VALUE});
        try (var assignment = torch.compute_bucket_assignment_by_size(parameters, noLimit)) {
            this.reducer = new Reducer(
                    parameters,
                    assignment.get0(),
                    group,
                    noneIsSparse(parameters.size()),
                    BUCKET_BYTES,
                    false,
                    false,
                    new SizeTStringMap(),
                    FIRST_BUCKET_BYTES,
                    false,
                    false,
                    new LongVector(FIRST_BUCKET_BYTES, BUCKET_BYTES));
        }
    }

    void beforeForward() {
        reducer.prepare_for_forward();
        reducer.rebuild_buckets(); // It does so once, after the first step.
    }

    /** Prepares the reducer, after which backward ends only when all gradients are averaged. */
    void beforeBackward() {
        reducer.prepare_for_backward(new TensorVector());
    }

    @Override
    public void close() {
        reducer.close();
        group.close();
    }

    private static BoolVector noneIsSparse(long count) {
        BoolVector answers = new BoolVector();
        for (long i = 0; i < count; i++) {
            answers.push_back(false);
        }
        return answers;
    }
}
