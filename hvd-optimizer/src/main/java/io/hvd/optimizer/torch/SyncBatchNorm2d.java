package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Tensor;

/** The {@link SyncBatchNorm} for tensors of shape {@code (samples, features, rows, columns)}. */
public final class SyncBatchNorm2d extends BatchNorm2dImpl implements NormLayer {
    private final SyncNormalisation normalisation;
    /** The layer whose native module this one shares; null if it has one of its own. */
    private final BatchNorm2dImpl converted;

    /**
     * Makes a new layer, to be kept in a field of the model as every batch norm.
     *
     * @param set all ranks ({@code HvdContext}) or some; on a rank outside, the layer is a plain batch norm
     * @param name the same on all ranks, and of this layer alone
     */
    public SyncBatchNorm2d(ProcessSet set, String name, BatchNormOptions options) {
        super(options);
        this.converted = null;
        this.normalisation = synchronised(set, name);
    }

    /** Takes the place of a layer in Java; the native module, its tensors and its registrations stay. */
    SyncBatchNorm2d(ProcessSet set, String name, BatchNorm2dImpl converted) {
        super((org.bytedeco.javacpp.Pointer) converted);
        this.converted = converted;
        this.normalisation = synchronised(set, name);
    }

    private SyncNormalisation synchronised(ProcessSet set, String name) {
        var made = new SyncNormalisation(set, name, this, super.running_mean(), super.running_var(), 4);
        super.running_mean(SyncNormalisation.unusable());
        return made;
    }

    /** In training normalises by the batches of all ranks, which must all come here; otherwise as every batch norm. */
    @Override
    public Tensor forward(Tensor input) {
        return normalisation.forward(input);
    }

    /** The running mean, the same on all ranks. */
    @Override
    public Tensor running_mean() {
        return normalisation.runningMean();
    }
}
