package io.hvd.optimizer.reduce;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Sends a matrix of gradients as the product of two thin ones. A gradient M of shape [rows, columns and what follows] becomes
 * P Q<sup>T</sup>, where P = M Q is averaged over the ranks and made orthonormal, and then Q = M<sup>T</sup> P is averaged. What the
 * product leaves out of M is added to the next step's gradient (error feedback), and Q is where the next step begins (warm start).
 * Vectors, types other than float32, and matrices for which it does not pay travel uncompressed.
 *
 * <p>(T. Vogels, S. P. Karimireddy and M. Jaggi, "PowerSGD: Practical Low-Rank Gradient Compression for Distributed Optimization",
 * NeurIPS 2019; the default values are those of torch's hook.)
 *
 * <p>A reducer keeps a number for each gradient that it compresses, and belongs to one optimizer. It drops the error memory when the
 * optimizer takes over another state, and no state is part of a checkpoint. If a gradient of a rank is not finite, its
 * average is NaN everywhere and its error memory stays as it was.
 */
public final class PowerSgd implements GradientReducer {
    private final Settings settings;
    private final OneOptimizer owner = new OneOptimizer(this);
    private final ErrorMemory errors = new ErrorMemory();
    private final Map<String, float[]> bases = new LinkedHashMap<>();

    /**
     * The settings of the compression.
     *
     * @param rank columns of P and Q: more are exacter and longer
     * @param startIteration number of steps at the beginning in which nothing is compressed, while gradients change fast
     * @param minCompressionRate factor by which P and Q together must be smaller than M; see {@link #compresses}
     * @param errorFeedback whether what is left out is added to the next gradient
     * @param warmStart whether Q is kept, instead of drawn anew for each step
     * @param orthogonalisationEpsilon added to the length by which a column is divided
     * @param seed of Q's random numbers, the same on all ranks
     */
    public record Settings(
            int rank,
            int startIteration,
            double minCompressionRate,
            boolean errorFeedback,
            boolean warmStart,
            double orthogonalisationEpsilon,
            long seed) {
        /** Refuses what has no meaning. */
        public Settings {
            require(rank >= 1, "rank", rank, "1 or more");
            require(startIteration >= 0, "startIteration", startIteration, "0 or more");
            require(
                    minCompressionRate > 0 && Double.isFinite(minCompressionRate),
                    "minCompressionRate",
                    minCompressionRate,
                    "a number above 0");
            require(
                    orthogonalisationEpsilon >= 0 && Double.isFinite(orthogonalisationEpsilon),
                    "orthogonalisationEpsilon",
                    orthogonalisationEpsilon,
                    "0 or more");
        }

        private static void require(boolean holds, String name, Object found, String expected) {
            if (!holds) {
                throw new HvdException(
                        ErrorId.BAD_ARGUMENT, "PowerSgd: " + name + " is " + found + ", expected " + expected);
            }
        }

        /** The default: compression from step 1,000 on, with error feedback and a warm start. */
        public static Settings ofRank(int rank) {
            return new Settings(rank, 1000, 2, true, true, 0, 0);
        }

        /** These settings with another number of steps that are not compressed. */
        public Settings startingAt(int iteration) {
            return new Settings(
                    rank, iteration, minCompressionRate, errorFeedback, warmStart, orthogonalisationEpsilon, seed);
        }

        /** Whether a matrix is sent as two thin ones: if (rows + columns) x rank x minCompressionRate is less than rows x columns. */
        public boolean compresses(long rows, long columns) {
            return (rows + columns) * rank * minCompressionRate < rows * columns;
        }
    }

    /** With the default settings and this rank. */
    public PowerSgd(int rank) {
        this(Settings.ofRank(rank));
    }

    /** With settings that are the same on all ranks. */
    public PowerSgd(Settings settings) {
        this.settings = settings;
    }

    @Override
    public CompletableFuture<GradientBucket> reduce(GradientBucket bucket) {
        owner.require(bucket);
        return BucketParts.of(
                        bucket,
                        (name, tensor) -> bucket.step() >= settings.startIteration && compresses(tensor),
                        (name, tensor) -> matrix(name, tensor, bucket.step()))
                .reduce(matrices -> compressed(bucket, matrices));
    }

    private boolean compresses(Tensor tensor) {
        if (tensor.dtype() != DType.FLOAT32 || tensor.shape().rank() < 2 || tensor.elements() > Integer.MAX_VALUE / 2) {
            return false;
        }
        long rows = tensor.shape().dim(0);
        return rows > 0 && settings.compresses(rows, tensor.elements() / rows);
    }

    private LowRank matrix(String name, Tensor tensor, long step) {
        int rows = Math.toIntExact(tensor.shape().dim(0));
        int columns = (int) (tensor.elements() / rows);
        int columnsOfQ = Math.min(settings.rank, Math.min(rows, columns));
        float[] basis = bases.computeIfAbsent(name, fresh -> new float[columnsOfQ * columns]);
        if (!settings.warmStart) {
            Arrays.fill(basis, 0);
        }
        RandomBasis.fillEmpty(basis, columnsOfQ, settings.seed ^ name.hashCode() ^ step << 32);
        Columns.orthonormalise(basis, columnsOfQ, settings.orthogonalisationEpsilon);
        float[] kept = settings.errorFeedback ? errors.of(name, rows * columns) : new float[rows * columns];
        return new LowRank(tensor, rows, columns, kept, basis);
    }

    private CompletableFuture<Void> compressed(GradientBucket bucket, List<LowRank> matrices) {
        float[] p = new float[matrices.stream().mapToInt(LowRank::lengthOfP).sum()];
        float[] q = new float[matrices.stream().mapToInt(LowRank::lengthOfQ).sum()];
        int at = 0;
        for (LowRank matrix : matrices) {
            matrix.addGradient();
            matrix.timesQ(p, at);
            at += matrix.lengthOfP();
        }
        return bucket.average("p", vector(p))
                .thenCompose(averaged -> {
                    rightSides(matrices, p, q);
                    return bucket.average("q", vector(q));
                })
                .thenAccept(averaged -> products(matrices, q));
    }

    private void rightSides(List<LowRank> matrices, float[] p, float[] q) {
        int ofP = 0;
        int ofQ = 0;
        for (LowRank matrix : matrices) {
            matrix.timesP(p, ofP, q, ofQ, settings.orthogonalisationEpsilon);
            ofP += matrix.lengthOfP();
            ofQ += matrix.lengthOfQ();
        }
    }

    private static void products(List<LowRank> matrices, float[] q) {
        int at = 0;
        for (LowRank matrix : matrices) {
            matrix.product(q, at);
            at += matrix.lengthOfQ();
        }
    }

    private static Tensor vector(float[] values) {
        return Tensor.wrap(values, DType.FLOAT32, Shape.of(values.length));
    }

    @Override
    public String settings() {
        return "PowerSgd " + settings;
    }

    /** A copy of what was left out of the gradients of a parameter so far; empty for one that was never compressed. */
    public float[] leftOut(String parameter) {
        return errors.copyOf(parameter);
    }

    @Override
    public long stateBytes() {
        return errors.bytes()
                + bases.values().stream()
                        .mapToLong(basis -> Float.BYTES * (long) basis.length)
                        .sum();
    }

    @Override
    public void stateLoaded() {
        errors.clear();
    }
}
