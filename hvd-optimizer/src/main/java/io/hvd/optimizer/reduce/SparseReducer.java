package io.hvd.optimizer.reduce;

import io.hvd.tensor.DType;
import io.hvd.tensor.Tensor;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Sends a few elements of each gradient in an allgather, and keeps the rest in an error memory, which is added to the next
 * step's gradient. The average is that of what the ranks have sent. An allgather fails while a rank has joined.
 */
abstract sealed class SparseReducer implements GradientReducer permits TopK, Threshold {
    /** The count of a gradient that is not finite. */
    private static final int NOT_FINITE = Integer.MIN_VALUE;

    private final OneOptimizer owner = new OneOptimizer(this);
    private final ErrorMemory errors = new ErrorMemory();

    /** Whether a gradient of so many elements is sent in part; otherwise it is averaged as it is. */
    abstract boolean compresses(int elements);

    /** Writes the elements to send: a count, which is never {@link #NOT_FINITE}, and what it stands for. */
    abstract void encode(float[] row, IntRow out);

    /**
     * Adds sign times what {@link #encode} has written at a place.
     *
     * @return the place after it
     */
    abstract int addDecoded(int[] from, int at, float sign, float[] to);

    /** The rest of a row after a step, counted from 0. */
    void leftOver(float[] row, long step) {}

    /** One gradient in one step. @param row the gradient and what was left out before @param finite whether the row is */
    private record Part(Tensor gradient, float[] errors, float[] row, boolean finite) {}

    @Override
    public final CompletableFuture<GradientBucket> reduce(GradientBucket bucket) {
        owner.require(bucket);
        return BucketParts.of(bucket, (name, tensor) -> isSparse(tensor), this::part)
                .reduce(parts -> sparse(bucket, parts));
    }

    private Part part(String name, Tensor gradient) {
        float[] before = errors.of(name, (int) gradient.elements());
        float[] row = before.clone();
        FloatRows.add(gradient, row);
        return new Part(gradient, before, row, FloatRows.isFinite(row, 0, row.length));
    }

    private boolean isSparse(Tensor tensor) {
        return tensor.dtype() == DType.FLOAT32
                && tensor.elements() <= Integer.MAX_VALUE / 2
                && compresses((int) tensor.elements());
    }

    private CompletableFuture<Void> sparse(GradientBucket bucket, List<Part> parts) {
        IntRow mine = new IntRow();
        for (Part part : parts) {
            if (part.finite) {
                encode(part.row, mine);
            } else {
                mine.add(NOT_FINITE);
            }
        }
        return bucket.allgather("sparse", mine.toTensor())
                .thenAccept(all -> new Sum(bucket, parts, mine.toArray()).take((int[]) all.toArray()));
    }

    /** The average of what all ranks have sent. */
    private final class Sum {
        private final GradientBucket bucket;
        private final List<Part> parts;
        private final int[] mine;

        Sum(GradientBucket bucket, List<Part> parts, int[] mine) {
            this.bucket = bucket;
            this.parts = parts;
            this.mine = mine;
        }

        /** The ranks' rows come one after the other, so all sums are made at once. */
        void take(int[] all) {
            List<float[]> sums =
                    parts.stream().map(part -> new float[part.row.length]).toList();
            boolean[] broken = new boolean[parts.size()];
            int at = 0;
            for (int rank = 0; rank < bucket.ranks().size(); rank++) {
                for (int i = 0; i < broken.length; i++) {
                    broken[i] |= all[at] == NOT_FINITE;
                    at = all[at] == NOT_FINITE ? at + 1 : addDecoded(all, at, 1, sums.get(i));
                }
            }
            at = 0;
            for (int i = 0; i < broken.length; i++) {
                at = end(parts.get(i), at, broken[i] ? null : sums.get(i));
            }
        }

        /** @param sum null if the gradient of a rank is not finite; what was left out before is then left out still */
        private int end(Part part, int at, float[] sum) {
            if (sum == null) {
                FloatRows.fill(part.gradient, Float.NaN);
                return part.finite ? addDecoded(mine, at, 0, part.row) : at + 1;
            }
            int next = addDecoded(mine, at, -1, part.row);
            leftOver(part.row, bucket.step());
            float ranks = bucket.ranks().size();
            for (int i = 0; i < sum.length; i++) {
                sum[i] /= ranks;
            }
            if (FloatRows.isFinite(sum, 0, sum.length)) {
                ErrorMemory.keep(part.row, part.errors, 0);
            }
            FloatRows.write(sum, part.gradient);
            return next;
        }
    }

    /** A copy of what was left out of the gradients of a parameter so far; empty for one that was never compressed. */
    public final float[] leftOut(String parameter) {
        return errors.copyOf(parameter);
    }

    @Override
    public final long stateBytes() {
        return errors.bytes();
    }

    @Override
    public final void stateLoaded() {
        errors.clear();
    }
}
