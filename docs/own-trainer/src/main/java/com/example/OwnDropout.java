package com.example;

import static org.bytedeco.pytorch.global.torch.createCPUGenerator;
import static org.bytedeco.pytorch.global.torch.empty;

import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Dropout by random numbers of its own, for a model of a rank that is a thread. */
final class OwnDropout {
    private final Generator generator = createCPUGenerator();

    OwnDropout(long seed) {
        generator.set_current_seed(seed); // such as seed + rank
    }

    /** For the training: in evaluation the model leaves it out. */
    Tensor forward(Tensor x, double probability) {
        double keep = 1 - probability;
        Tensor mask = empty(x.sizes().vec().get()).bernoulli_(keep, new GeneratorOptional(generator));
        return x.mul(mask.div_(new Scalar(keep)).to(x.device(), x.scalar_type()));
    }
}
