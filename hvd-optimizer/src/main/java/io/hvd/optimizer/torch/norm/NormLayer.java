package io.hvd.optimizer.torch.norm;

import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Tensor;

/** What {@link SyncNormalisation} reads of a batch norm layer; LibTorch's classes for 1, 2 and 3 dimensions have no such type. */
public interface NormLayer {
    /** Normalises by the batches of all ranks in training. */
    Tensor forward(Tensor input);

    Tensor weight();

    Tensor bias();

    Tensor num_batches_tracked();

    BatchNormOptions options();

    boolean is_training();
}
