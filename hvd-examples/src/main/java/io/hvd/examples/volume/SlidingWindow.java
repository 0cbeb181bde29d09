package io.hvd.examples.volume;

import static org.bytedeco.pytorch.global.torch.cat;
import static org.bytedeco.pytorch.global.torch.constant_pad_nd;
import static org.bytedeco.pytorch.global.torch.zeros_like;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;

/**
 * Applies a net for cubes to a volume of any size: to cubes that lie over each other, whose results are averaged with weights. A volume
 * that is smaller than a cube is surrounded by zeros for that.
 *
 * @param side voxels of a cube's side
 * @param batch cubes that are computed at once
 * @param overlap the share of a side that neighbours have in common, from 0 to below 1
 */
record SlidingWindow(int side, int batch, double overlap, Weighting weighting) {
    /** The weight of a voxel's result, by its place in the cube. */
    enum Weighting {
        /** All alike. */
        CONSTANT,
        /** A bell around the centre, with an eighth of the side as its deviation: results near the border know less around them. */
        GAUSSIAN;

        private static final double DEVIATION = 0.125;
        /** Where two cubes meet at their corners only, the quotient of tiny weights must still be exact enough. */
        private static final double LEAST = 1e-3;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        /** The weights of a cube's voxels, in the order of its tensor. */
        float[] of(int side) {
            double[] bell = new double[side];
            for (int i = 0; i < side; i++) {
                double distance = (i - (side - 1) / 2.0) / (DEVIATION * side);
                bell[i] = this == CONSTANT ? 1 : Math.exp(-distance * distance / 2);
            }
            float[] weights = new float[side * side * side];
            for (int i = 0; i < weights.length; i++) {
                double weight = bell[i % side] * bell[i / side % side] * bell[i / side / side];
                weights[i] = (float) Math.max(LEAST, weight);
            }
            return weights;
        }
    }

    /** The beginning of a cube along each axis of a tensor. */
    private record Place(long z, long y, long x) {}

    /**
     * Computes the result for a volume.
     *
     * @param net from (n, 1, side, side, side) to the same shape
     * @param volume (1, 1, depth, height, width)
     * @return the same shape
     */
    Tensor apply(UnaryOperator<Tensor> net, Tensor volume) {
        Tensor padded = padded(volume);
        Tensor sum = zeros_like(padded);
        Tensor weights = zeros_like(padded);
        Tensor weight =
                Tensor.create(weighting.of(side), 1, 1, side, side, side).to(volume.device(), volume.scalar_type());
        List<Place> places = places(padded);
        for (int first = 0; first < places.size(); first += batch) {
            add(net, padded, places.subList(first, Math.min(first + batch, places.size())), weight, sum, weights);
        }
        return unpadded(sum.div_(weights), volume);
    }

    private void add(
            UnaryOperator<Tensor> net, Tensor from, List<Place> places, Tensor weight, Tensor sum, Tensor weights) {
        try (PointerScope scope = new PointerScope()) {
            Tensor[] cubes = places.stream().map(place -> cube(from, place)).toArray(Tensor[]::new);
            Tensor results = net.apply(cat(new TensorVector(cubes), 0)).mul(weight);
            for (int i = 0; i < cubes.length; i++) {
                cube(sum, places.get(i)).add_(results.narrow(0, i, 1));
                cube(weights, places.get(i)).add_(weight);
            }
        }
    }

    private Tensor cube(Tensor of, Place place) {
        return of.narrow(2, place.z, side).narrow(3, place.y, side).narrow(4, place.x, side);
    }

    private List<Place> places(Tensor volume) {
        List<Place> places = new ArrayList<>();
        for (long z : starts(volume.size(2))) {
            for (long y : starts(volume.size(3))) {
                for (long x : starts(volume.size(4))) {
                    places.add(new Place(z, y, x));
                }
            }
        }
        return places;
    }

    /** Where cubes begin along an axis: at regular distances, and the last one ends where the axis does. */
    List<Long> starts(long size) {
        long distance = Math.max(1, (long) (side * (1 - overlap)));
        List<Long> starts = new ArrayList<>();
        for (long start = 0; start + side < size; start += distance) {
            starts.add(start);
        }
        starts.add(size - side);
        return starts;
    }

    private Tensor padded(Tensor volume) {
        long[] around = new long[6];
        for (int axis = 0; axis < 3; axis++) {
            long missing = Math.max(0, side - volume.size(4 - axis));
            around[2 * axis] = missing / 2;
            around[2 * axis + 1] = missing - missing / 2;
        }
        return constant_pad_nd(volume, around, new Scalar(0.0));
    }

    private Tensor unpadded(Tensor padded, Tensor volume) {
        Tensor part = padded;
        for (int axis = 2; axis < 5; axis++) {
            part = part.narrow(axis, Math.max(0, side - volume.size(axis)) / 2, volume.size(axis));
        }
        return part;
    }
}
