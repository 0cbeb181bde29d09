package io.hvd.optimizer.torch;

import io.hvd.ProcessSet;
import io.hvd.optimizer.torch.norm.NormLayer;
import io.hvd.optimizer.torch.norm.SyncNormalisation;
import java.util.List;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** The {@link SyncBatchNorm} for tensors of shape {@code (samples, features, rows, columns)}. */
public final class SyncBatchNorm2d extends BatchNorm2dImpl implements NormLayer {
    private final SyncNormalisation normalisation;
    /** The layers in Java whose native module this one shares, which goes with one of them; empty if it has one of its own. */
    private final List<Module> converted;

    /**
     * Makes a new layer, to be kept in a field of the model as every batch norm.
     *
     * @param set all ranks ({@code HvdContext}) or some; on a rank outside, the layer is a plain batch norm
     * @param name the same on all ranks, and of this layer alone
     */
    public SyncBatchNorm2d(ProcessSet set, String name, BatchNormOptions options) {
        super(options);
        this.converted = List.of();
        this.normalisation = synchronised(set, name);
    }

    /**
     * Takes the place of a layer in Java; the native module, its tensors and its registrations stay.
     *
     * @param converted all objects that stand for it
     */
    SyncBatchNorm2d(ProcessSet set, String name, List<Module> converted) {
        super((org.bytedeco.javacpp.Pointer) converted.get(0));
        this.converted = converted;
        this.normalisation = synchronised(set, name);
    }

    private SyncNormalisation synchronised(ProcessSet set, String name) {
        var made = new SyncNormalisation(set, name, this, super.running_mean(), super.running_var(), 4);
        super.running_mean(SyncNormalisation.unusable());
        return made;
    }

    /** Normalises by the batches of all ranks in training, for which all of them must call it, and otherwise as every batch norm does. */
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
