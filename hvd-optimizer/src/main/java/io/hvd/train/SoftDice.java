package io.hvd.train;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.tensor.Tensor;

/**
 * The Dice coefficient of predicted probabilities and targets from 0 to 1, over the elements of all ranks: twice the sum of products
 * over the sum of both. Sums travel, not quotients. For classes instead of probabilities it is {@link ConfusionMatrix.Result#dice}.
 */
public final class SoftDice {
    private final String name;
    private double products;
    private double sums;

    /** @param name the same on every rank */
    public SoftDice(String name) {
        this.name = name;
    }

    /** Adds elements of this rank. */
    public void add(float[] predicted, float[] target) {
        if (predicted.length != target.length) {
            throw new IllegalArgumentException(
                    predicted.length + " predicted elements for " + target.length + " of the target");
        }
        for (int i = 0; i < target.length; i++) {
            products += (double) predicted[i] * target[i];
            sums += (double) predicted[i] + target[i];
        }
    }

    /**
     * The coefficient over the ranks of a process set; each of them must call it, and gets the same result. It is NaN if all
     * elements are 0.
     */
    public double reduce(ProcessSet ranks) {
        double[] total = (double[]) ranks.allreduce("metric." + name, Tensor.of(products, sums), AllreduceOptions.sum())
                .toArray();
        return 2 * total[0] / total[1];
    }
}
