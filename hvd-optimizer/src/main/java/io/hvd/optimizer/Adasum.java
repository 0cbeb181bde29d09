package io.hvd.optimizer;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.step.FlatTensors;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Combines the ranks' tensors so that what points the same way is averaged and what is orthogonal is added:
 * <pre>
 *   a' = (1 - a.b / 2 a.a) a + (1 - a.b / 2 b.b) b
 * </pre>
 * for each pair of ranks, then for each pair of pairs, and so on; each tensor by itself, with products summed in double precision,
 * and a factor of 1 for a tensor whose square is less than the root of the smallest normal number. The number of ranks is a power of
 * two.
 *
 * <p>Every rank gets an equal piece of all ranks' tensors, combines them, for which the ranks add up the three products of every
 * pair and tensor once per level, and gives its piece of the result to all. So a rank sends and receives about twice its own
 * tensors, however many ranks there are, and all ranks end with the same bits.
 *
 * <p>(S. Maleki et al., "Scaling Distributed Training with Adaptive Summation", MLSys 2021; Horovod's op=Adasum.)
 */
public final class Adasum {
    private static final double LEAST_SQUARE = Math.sqrt(Double.MIN_NORMAL);
    /** The three products a.b, a.a and b.b. */
    private static final int PRODUCTS = 3;

    private final ProcessSet set;

    /**
     * @param set all ranks ({@code HvdContext}) or some
     * @throws HvdException if their number is not a power of two
     */
    public Adasum(ProcessSet set) {
        this.set = Objects.requireNonNull(set, "process set");
        if (Integer.bitCount(set.size()) != 1) {
            int below = Integer.highestOneBit(set.size());
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "Adasum combines ranks in pairs, so their number must be a power of two: found " + set.size()
                            + " ranks " + set.ranks() + ", expected " + below + " or " + 2 * below);
        }
    }

    /**
     * Overwrites the tensors of every rank with what the ranks' are together. A collective.
     *
     * @param name for messages; the ranks find each other by it
     * @param tensors in the host's memory, of floating-point types, the same number and shapes on all ranks
     */
    public void allreduce(String name, List<Tensor> tensors) {
        FlatTensors flat = new FlatTensors(name, tensors);
        if (set.size() == 1 || !set.included()) {
            return;
        }
        int n = set.size();
        int piece = (flat.elements() + n - 1) / n;
        double[] received = exchanged(name, flat, piece);
        List<double[]> vectors = new ArrayList<>();
        for (int rank = 0; rank < n; rank++) {
            double[] vector = new double[piece];
            System.arraycopy(received, rank * piece, vector, 0, piece);
            vectors.add(vector);
        }
        int[] ends = flat.endsWithin((long) set.rank() * piece, piece);
        for (int level = 0; vectors.size() > 1; level++) {
            vectors = paired(name + ".products." + level, vectors, ends);
        }
        Tensor all = set.allgather(name + ".result", flat.travelling(vectors.get(0)));
        flat.write(all);
    }

    /** This rank's piece of every rank's tensors, in rank order. */
    private double[] exchanged(String name, FlatTensors flat, int piece) {
        Tensor mine = flat.travelling(flat.read(piece * set.size()));
        return FlatTensors.doubles(set.alltoall(name + ".pieces", mine).output());
    }

    private List<double[]> paired(String name, List<double[]> vectors, int[] ends) {
        int pairs = vectors.size() / 2;
        double[] products = new double[pairs * ends.length * PRODUCTS];
        for (int pair = 0; pair < pairs; pair++) {
            multiply(vectors.get(2 * pair), vectors.get(2 * pair + 1), ends, products, pair * ends.length * PRODUCTS);
        }
        set.allreduceInPlace(
                name, Tensor.wrap(products, DType.FLOAT64, Shape.of(products.length)), AllreduceOptions.sum());
        List<double[]> combined = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            double[] a = vectors.get(2 * pair);
            combine(a, vectors.get(2 * pair + 1), ends, products, pair * ends.length * PRODUCTS);
            combined.add(a);
        }
        return combined;
    }

    /** @param ends where each tensor's elements end in the vectors */
    private static void multiply(double[] a, double[] b, int[] ends, double[] products, int at) {
        int from = 0;
        for (int tensor = 0; tensor < ends.length; tensor++) {
            double ab = 0;
            double aa = 0;
            double bb = 0;
            for (int i = from; i < ends[tensor]; i++) {
                ab += a[i] * b[i];
                aa += a[i] * a[i];
                bb += b[i] * b[i];
            }
            products[at + PRODUCTS * tensor] = ab;
            products[at + PRODUCTS * tensor + 1] = aa;
            products[at + PRODUCTS * tensor + 2] = bb;
            from = ends[tensor];
        }
    }

    /** Leaves the result in the first vector. */
    private static void combine(double[] a, double[] b, int[] ends, double[] products, int at) {
        int from = 0;
        for (int tensor = 0; tensor < ends.length; tensor++) {
            double ab = products[at + PRODUCTS * tensor];
            double ofA = factor(ab, products[at + PRODUCTS * tensor + 1]);
            double ofB = factor(ab, products[at + PRODUCTS * tensor + 2]);
            for (int i = from; i < ends[tensor]; i++) {
                a[i] = ofA * a[i] + ofB * b[i];
            }
            from = ends[tensor];
        }
    }

    private static double factor(double product, double square) {
        return square < LEAST_SQUARE ? 1 : 1 - product / (2 * square);
    }
}
