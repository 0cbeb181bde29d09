package io.hvd.examples.image;

import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** A LibTorch module from images to log-probabilities of classes. */
abstract class ImageClassifier extends Module {
    /**
     * @param images (batch, 1, rows, columns)
     * @return (batch, classes)
     */
    abstract Tensor forward(Tensor images);
}
