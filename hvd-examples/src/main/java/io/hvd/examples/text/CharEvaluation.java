package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.nll_loss;

import io.hvd.HvdContext;
import io.hvd.optimizer.torch.TorchBatch;
import io.hvd.optimizer.torch.TorchLoader;
import io.hvd.train.MeanMetric;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;

/**
 * A model's accuracy on the test's characters, exactly over all ranks.
 *
 * @param loss the mean of the negative logarithms of the probabilities of the right characters
 * @param perplexity the exponential of the loss: among so many equally likely characters the model chooses
 * @param accuracy the share of the characters that the model would have guessed
 */
record CharEvaluation(double loss, double perplexity, double accuracy) {
    static final CharEvaluation NONE = new CharEvaluation(Double.NaN, Double.NaN, Double.NaN);

    /** Evaluates; every rank calls it. @param width characters of a sample */
    static CharEvaluation of(HvdContext hvd, CharStep model, TorchLoader<int[]> loader, int width) {
        MeanMetric losses = new MeanMetric("loss");
        MeanMetric hits = new MeanMetric("accuracy");
        for (TorchBatch batch : loader) {
            try (PointerScope scope = new PointerScope();
                    NoGradGuard guard = new NoGradGuard()) {
                Tensor scores = model.scores(batch);
                Tensor next = CharStep.next(batch);
                int characters = batch.size() * width;
                losses.add(nll_loss(scores, next).item_float() * (double) characters, characters);
                hits.add(
                        scores.argmax(new LongOptional(1), false).eq(next).sum().item_long(), characters);
            }
        }
        MeanMetric.Result loss = losses.reduce(hvd);
        return new CharEvaluation(
                loss.mean(), loss.perplexity(), hits.reduce(hvd).mean());
    }
}
