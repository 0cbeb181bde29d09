package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.DistributedOptimizer;
import io.hvd.optimizer.torch.TorchTensors;
import io.hvd.tensor.Tensor;
import io.hvd.train.Checkpoint;
import java.io.IOException;
import java.nio.file.Files;
import java.util.Map;
import java.util.TreeMap;

/** Saves a training at the end of an epoch and continues it. Rank 0 alone touches the file. */
final class TrainingCheckpoint {
    private static final String OPTIMIZER = "optimizer.state";
    private static final String EPOCHS = "epochs";
    private static final String MODEL = "model.";

    private final HvdContext hvd;
    private final ImageClassifier model;
    private final DistributedOptimizer optimizer;
    private final TrainingOptions options;

    TrainingCheckpoint(HvdContext hvd, ImageClassifier model, DistributedOptimizer optimizer, TrainingOptions options) {
        this.hvd = hvd;
        this.model = model;
        this.optimizer = optimizer;
        this.options = options;
    }

    void save(int epochsDone) throws IOException {
        if (hvd.rank() > 0 || options.checkpoint().isEmpty()) {
            return;
        }
        TreeMap<String, Tensor> tensors = new TreeMap<>();
        TorchTensors.state(model).forEach((name, tensor) -> tensors.put(MODEL + name, tensor));
        tensors.put(OPTIMIZER, Tensor.ofBytes(optimizer.saveState()));
        new Checkpoint(tensors, Map.of(EPOCHS, String.valueOf(epochsDone)))
                .write(options.checkpoint().get());
    }

    /**
     * Loads the file on rank 0 if a resume is wanted and it is there; the broadcasts that every
     * training starts with bring it to the others.
     *
     * @return epochs that are done, the same on every rank
     */
    int restore() throws IOException {
        int done = hvd.rank() == 0
                        && options.resume()
                        && Files.exists(options.checkpoint().get())
                ? load()
                : 0;
        return Integer.parseInt(hvd.broadcastObject("resume.epochs", String.valueOf(done), ObjectCodec.utf8(), 0));
    }

    private int load() throws IOException {
        Checkpoint checkpoint = Checkpoint.read(options.checkpoint().get());
        TorchTensors.state(model).forEach((name, tensor) -> {
            Tensor saved = checkpoint.tensors().get(MODEL + name);
            if (saved == null || !saved.shape().equals(tensor.shape())) {
                throw new HvdException(
                        ErrorId.BAD_CHECKPOINT,
                        options.checkpoint().get() + " is of another model: \"" + name + "\" is " + saved
                                + ", expected " + tensor);
            }
            tensor.copyFrom(saved);
        });
        optimizer.loadState((byte[]) checkpoint.tensors().get(OPTIMIZER).toArray());
        return Integer.parseInt(checkpoint.metadata().get(EPOCHS));
    }
}
