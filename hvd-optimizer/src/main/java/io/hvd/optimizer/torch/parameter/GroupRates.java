package io.hvd.optimizer.torch.parameter;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.Arrays;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Optimizer;
import org.bytedeco.pytorch.OptimizerOptions;

/**
 * The learning rates of a LibTorch optimizer's parameter groups. A program sets that of the first group; the others
 * keep their ratio to it, also through a rate of 0, as at the end of a schedule.
 */
public final class GroupRates {
    private final Optimizer optimizer;
    /** The rates after the last {@link #set}; others mean that the program or a loaded state has set them since. */
    private double[] left;
    /** Each group's rate over the first group's. */
    private double[] ratios;

    public GroupRates(Optimizer optimizer) {
        this.optimizer = optimizer;
        this.left = read();
        this.ratios = new double[left.length];
        Arrays.fill(ratios, 1);
        if (left[0] != 0) {
            ratios = over(left[0], left);
        }
    }

    /** The first group's. */
    public double first() {
        return options(0).get_lr();
    }

    /**
     * Sets the first group's rate, and those of the others in proportion.
     *
     * @throws HvdException if the rate is negative or not finite; or if the first group's rate is 0 and another group's is not, and hvd
     *     has not set them so
     */
    public void set(double rate) {
        requireUsable(rate);
        double[] found = read();
        if (!Arrays.equals(found, left)) {
            learn(found);
        }
        for (int i = 0; i < ratios.length; i++) {
            options(i).set_lr(rate * ratios[i]);
        }
        left = read();
    }

    private static void requireUsable(double rate) {
        if (!(rate >= 0) || Double.isInfinite(rate)) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT, "learningRate(" + rate + "): expected a finite number of at least 0");
        }
    }

    /** Where all rates are 0, the ratios that were known stand. */
    private void learn(double[] found) {
        if (found[0] != 0) {
            ratios = over(found[0], found);
        } else if (DoubleStream.of(found).anyMatch(rate -> rate != 0)) {
            throw noRatio(found);
        }
    }

    private static HvdException noRatio(double[] found) {
        return new HvdException(
                ErrorId.BAD_ARGUMENT,
                "learningRate(rate) sets the first parameter group's rate and keeps the others' ratio to it, but the "
                        + found.length + " groups have the rates " + Arrays.toString(found)
                        + ", and there is no ratio to 0. Set the groups one by one with LibTorch's"
                        + " param_groups().get(i).options().set_lr(rate)");
    }

    private static double[] over(double first, double[] rates) {
        return DoubleStream.of(rates).map(rate -> rate / first).toArray();
    }

    private double[] read() {
        return IntStream.range(0, Math.toIntExact(optimizer.param_groups().size()))
                .mapToDouble(group -> options(group).get_lr())
                .toArray();
    }

    private OptimizerOptions options(int group) {
        return optimizer.param_groups().get(group).options();
    }
}
