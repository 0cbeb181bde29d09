package io.hvd.transformers;

import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.GeneratorOptional;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * Sets each number to zero with some probability and scales the others up, while its module is trained. The random numbers are of a
 * generator of the model's own, since ranks that are threads of one process share LibTorch's.
 */
record Dropout(double probability, Module module, Generator masks) {
    Tensor apply(Tensor x) {
        if (probability == 0 || !module.is_training()) {
            return x;
        }
        double keep = 1 - probability;
        Tensor mask = torch.empty(x.sizes().vec().get()).bernoulli_(keep, new GeneratorOptional(masks));
        return x.mul(mask.div_(new Scalar(keep)).to(x.device(), x.scalar_type()));
    }
}
