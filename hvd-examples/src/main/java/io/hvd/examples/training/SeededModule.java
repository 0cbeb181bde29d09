package io.hvd.examples.training;

import static org.bytedeco.pytorch.global.torch.createCPUGenerator;
import static org.bytedeco.pytorch.global.torch.empty;
import static org.bytedeco.pytorch.global.torch.manual_seed;

import java.util.function.Supplier;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** A LibTorch module whose weights and dropout depend on seeds only, although ranks may be threads of one process. */
public abstract class SeededModule extends Module {
    /** The lock on LibTorch's generator, from which all weights of a process are drawn. */
    private static final Object GENERATOR = new Object();

    /** A generator of this module's own: ranks that are threads of one process would share LibTorch's. */
    private final Generator masks = createCPUGenerator();

    /** Draws the weights by the seed alone. */
    public static <M extends Module> M seeded(long seed, Supplier<M> net) {
        synchronized (GENERATOR) {
            manual_seed(seed);
            return net.get();
        }
    }

    /** Seeds dropout, whose random numbers then depend on this seed only. */
    public final void seedDropout(long seed) {
        masks.set_current_seed(seed);
    }

    /** Sets each element to zero with this probability and scales the others up, in training only. */
    protected final Tensor dropout(Tensor x, double probability) {
        return dropout(x, probability, x.sizes().vec().get());
    }

    /** Does the same with whole channels. @param x (batch, channels, rows, columns) */
    protected final Tensor dropoutOfChannels(Tensor x, double probability) {
        return dropout(x, probability, x.size(0), x.size(1), 1, 1);
    }

    private Tensor dropout(Tensor x, double probability, long... shape) {
        if (!is_training()) {
            return x;
        }
        double keep = 1 - probability;
        Tensor mask = empty(shape).bernoulli_(keep, new GeneratorOptional(masks));
        return x.mul(mask.div_(new Scalar(keep)).to(x.device(), x.scalar_type()));
    }
}
