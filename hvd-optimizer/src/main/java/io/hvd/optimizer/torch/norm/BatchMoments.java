package io.hvd.optimizer.torch.norm;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.optimizer.torch.memory.TensorViews;
import java.lang.ref.Reference;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarOptional;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Mean and variance of every feature over the batches of all ranks, however many samples each has.
 *
 * <p>Each rank brings its count n, its mean m and its variance v, and the ranks add up n, nm and n(v + m<sup>2</sup>) in double
 * precision. The variance is what then remains of the mean square, of which at most (m<sup>2</sup>/v) * 2<sup>-53</sup> is
 * lost: less than single-precision input has lost by being rounded, (|m|/sqrt(v)) * 2<sup>-24</sup>, for every |m|/sqrt(v)
 * below 2<sup>29</sup>. Of double-precision input, the squares are taken around the mean of all ranks in a second allreduce. As
 * sums, the moments need no word from a rank that has joined.
 *
 * @param count number of values per feature, of all ranks together
 * @param mean one per feature
 * @param variance over all values, so without the correction for a sample
 */
public record BatchMoments(double count, Tensor mean, Tensor variance) {
    /**
     * A collective.
     *
     * @param type of the result
     */
    static BatchMoments over(ProcessSet set, String name, Tensor input, ScalarType type) {
        long features = input.size(1);
        long own = input.numel() / features;
        Tensor mean = torch.zeros(new long[] {features}, input.options()).to(ScalarType.Double);
        Tensor variance = mean;
        if (own > 0) {
            T_TensorTensor_T found = torch.batch_norm_update_stats(input, unread(input), unread(input), 0);
            mean = found.get0().to(ScalarType.Double);
            variance = found.get1().to(ScalarType.Double);
            Reference.reachabilityFence(found); // its members point into it
        }
        Tensor counted = torch.full(new long[] {1}, new Scalar((double) own), mean.options());
        Tensor sums = torch.cat(new TensorVector(
                counted, mean.mul(number(own)), variance.add(mean.square()).mul(number(own))));
        add(set, name, sums);
        double count = sums.narrow(0, 0, 1).item_double();
        if (count == 0) {
            return new BatchMoments(0, mean.to(type), variance.to(type));
        }
        Tensor all = sums.narrow(0, 1, features).div(number(count));
        Tensor squares = sums.narrow(0, 1 + features, features).div(number(count));
        Tensor spread = squares.sub(all.square());
        if (input.scalar_type().intern() == ScalarType.Double) {
            spread = variance.add(mean.sub(all).square()).mul(number(own));
            add(set, name + ".squares", spread);
            spread = spread.div(number(count));
        }
        Tensor least = spread.clamp(new ScalarOptional(number(0)), new ScalarOptional());
        return new BatchMoments(count, all.to(type), least.to(type));
    }

    /**
     * Running statistics that nobody reads. Beside ones in single precision LibTorch keeps the moments of 16-bit input in single
     * precision too; without any, the sum of squares on the CPU would be a 16-bit number, and infinite above 65504.
     */
    private static TensorOptional unread(Tensor input) {
        return isHalf(input.scalar_type().intern())
                ? new TensorOptional(
                        torch.zeros(new long[] {input.size(1)}, input.options()).to(ScalarType.Float))
                : new TensorOptional();
    }

    /** Whether a type has 16 bits. */
    static boolean isHalf(ScalarType type) {
        return type == ScalarType.Half || type == ScalarType.BFloat16;
    }

    /** Adds up a tensor over the ranks, in its own memory. */
    static void add(ProcessSet set, String name, Tensor sums) {
        set.allreduceInPlace(name, TensorViews.alias(name, sums), AllreduceOptions.sum());
    }

    /** Centres and scales an input, then multiplies by the weights and adds the bias. */
    Tensor normalise(Tensor input, TensorOptional weight, TensorOptional bias, double epsilon) {
        return torch.batch_norm(
                input, weight, bias, new TensorOptional(mean), new TensorOptional(variance), false, 0, epsilon, false);
    }

    private static Scalar number(double value) {
        return new Scalar(value);
    }
}
