package io.hvd.examples.text;

import static org.bytedeco.pytorch.global.torch.log_softmax;

import io.hvd.examples.training.TorchDevice;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A language model of characters, which reads from the left to the right. */
abstract class CharModel extends Module {
    /** The nets that there are. */
    enum Kind {
        LSTM,
        TRANSFORMER;

        String word() {
            return name().toLowerCase(Locale.ROOT);
        }

        static Kind of(String word) {
            return valueOf(word.toUpperCase(Locale.ROOT));
        }

        static List<String> words() {
            return Stream.of(values()).map(Kind::word).toList();
        }
    }

    /**
     * @param characters (batch, width)
     * @return log-probabilities of the next characters in float32 (batch * width, letters)
     */
    abstract Tensor forward(Tensor characters);

    /** Begins to read without any character before. @param device on which the model is */
    abstract CharReader reader(TorchDevice device);

    /** The log-probabilities of scores, also of those that autocast has computed in 16 bits. */
    static Tensor logarithms(Tensor scores) {
        return log_softmax(scores.reshape(-1, scores.size(scores.dim() - 1)).to(ScalarType.Float), 1);
    }
}
