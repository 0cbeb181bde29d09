package com.example;

import static org.bytedeco.pytorch.global.torch.binary_cross_entropy_with_logits;

import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.SequentialImpl;
import org.bytedeco.pytorch.TanhImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** The data and the model of the tutorial: which points of a square lie inside a circle? */
final class Circle {
    static final int POINTS = 4096;
    static final int BATCH = 64;
    private static final float[] TRAINING = coordinates(POINTS, new Random(1));
    private static final float[] TEST = coordinates(1000, new Random(2));

    private Circle() {}

    static SequentialImpl model(int width) {
        var model = new SequentialImpl();
        model.push_back(new LinearImpl(2, width));
        model.push_back(new TanhImpl());
        model.push_back(new LinearImpl(width, 1));
        return model;
    }

    /** The numbers of all points, in an order of this epoch's own. */
    static int[] shuffled(int epoch) {
        var random = new Random(epoch);
        int[] order = IntStream.range(0, POINTS).toArray();
        for (int last = POINTS - 1; last > 0; last--) {
            int other = random.nextInt(last + 1);
            int moved = order[last];
            order[last] = order[other];
            order[other] = moved;
        }
        return order;
    }

    /** The loss of the batch that begins at a place of the order; the last one may be smaller. */
    static Tensor loss(SequentialImpl model, int[] order, int from) {
        Tensor points = points(order, from);
        return loss(model.forward(points), points);
    }

    /** The points of the batch that begins at a place of the order; the last one may be smaller. */
    static Tensor points(int[] order, int from) {
        return points(order, from, Math.min(BATCH, order.length - from));
    }

    /** The loss of what a model says about points. */
    static Tensor loss(Tensor output, Tensor points) {
        return binary_cross_entropy_with_logits(output, inside(points));
    }

    /** How many of 1000 points that were not trained on are on the side that the model says. */
    static long right(SequentialImpl model) {
        Tensor points = tensor(TEST);
        return model.forward(points).gt(new Scalar(0)).eq(inside(points)).sum().item_long();
    }

    /** How many of the points with these numbers are on the side that the model says. */
    static long right(SequentialImpl model, int[] numbers) {
        return right(model::forward, numbers);
    }

    static long right(UnaryOperator<Tensor> model, int[] numbers) {
        Tensor points = points(numbers, 0, numbers.length);
        return model.apply(points).gt(new Scalar(0)).eq(inside(points)).sum().item_long();
    }

    private static Tensor points(int[] numbers, int from, int size) {
        float[] batch = new float[2 * size];
        for (int i = 0; i < size; i++) {
            System.arraycopy(TRAINING, 2 * numbers[from + i], batch, 2 * i, 2);
        }
        return tensor(batch);
    }

    private static Tensor inside(Tensor points) {
        return points.sub(new Scalar(0.5)).square().sum(new long[] {1}, true, new ScalarTypeOptional())
                .lt(new Scalar(0.16)).to(ScalarType.Float);
    }

    private static Tensor tensor(float[] coordinates) {
        return Tensor.create(coordinates, coordinates.length / 2, 2);
    }

    private static float[] coordinates(int points, Random random) {
        float[] coordinates = new float[2 * points];
        for (int i = 0; i < coordinates.length; i++) {
            coordinates[i] = random.nextFloat();
        }
        return coordinates;
    }
}
