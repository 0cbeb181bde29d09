package io.hvd.examples.volume;

import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.data.EvalSampler;
import io.hvd.examples.training.TorchDevice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;

/** Evaluates a net on volumes, each of which goes to one rank, by cubes that slide over it. */
final class VolumeEvaluation {
    private static final double PROBABLE = 0.5;

    private final HvdContext hvd;
    private final TorchDevice device;
    private final UNet3d model;
    private final SlidingWindow window;
    private final int workers;

    VolumeEvaluation(HvdContext hvd, TorchDevice device, UNet3d model, SlidingWindow window, int workers) {
        this.hvd = hvd;
        this.device = device;
        this.model = model;
        this.window = window;
        this.workers = workers;
    }

    /** Receives what was predicted for a volume of this rank. */
    @FunctionalInterface
    interface Listener {
        /** @param predicted a bool tensor (1, 1, depth, height, width), which is gone after the call */
        void predicted(LabelledVolume volume, Tensor predicted) throws IOException;
    }

    /** Evaluates all volumes; every rank calls it, and gets the scores of all. */
    VolumeScores evaluate(VolumeSet volumes, Listener listener) throws IOException {
        EvalSampler sampler = new EvalSampler(volumes.size(), hvd.size(), hvd.rank());
        int[] indices = sampler.indices();
        List<VolumeScore> mine = new ArrayList<>();
        model.train(false);
        try (DataLoader<LabelledVolume, LabelledVolume> loader = DataLoader.<LabelledVolume, LabelledVolume>builder(
                        volumes.volumes(), sampler, batch -> batch.get(0))
                .workers(workers)
                .build()) {
            for (LabelledVolume volume : loader) {
                mine.add(score(indices[mine.size()], volume, listener));
            }
        }
        model.train(true);
        return VolumeScores.gather(hvd, mine);
    }

    private VolumeScore score(int index, LabelledVolume volume, Listener listener) throws IOException {
        try (PointerScope scope = new PointerScope();
                NoGradGuard guard = new NoGradGuard()) {
            Tensor truth = tensor(volume.label()).ne(new Scalar(0.0));
            Tensor logits = window.apply(model::forward, tensor(volume.scaled().image()));
            Tensor predicted = logits.sigmoid().gt(new Scalar(PROBABLE));
            listener.predicted(volume, predicted);
            double loss = DiceLoss.of(logits, truth.to(logits.scalar_type())).item_float();
            return VolumeScore.of(index, predicted, truth, loss);
        }
    }

    private Tensor tensor(Volume volume) {
        return device.onto(Tensor.create(volume.voxels(), 1, 1, volume.depth(), volume.height(), volume.width()));
    }
}
