package io.hvd.examples.image;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.examples.data.Digits;
import org.apache.commons.cli.DefaultParser;

/** The program of each rank of {@link EvaluationIT}: one epoch of digits, and then it says what it has found. */
final class EvaluationOnEveryRank {
    private EvaluationOnEveryRank() {}

    public static void main(String[] args) throws Exception {
        DigitsExample digits = new DigitsExample();
        TrainingOptions options = digits.options(new DefaultParser().parse(digits.flags(), args));
        try (HvdContext hvd = Hvd.init()) {
            var evaluation = new ImageTraining("digits", hvd, options, Digits.load(), DigitsNet::new).run();
            System.out.println("rank " + hvd.rank() + " found " + evaluation);
        }
    }
}
