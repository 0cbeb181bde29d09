package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.examples.image.StepFigures.Figure;
import io.hvd.examples.image.StepFigures.Reading;
import io.hvd.train.ClassScores;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepFiguresTest {
    /** Six classes, so that the first five places are not all. */
    private static final float[] FALLING = {6, 5, 4, 3, 2, 1};

    @Test
    void eachFigureIsThatOfTheLastStepAndTheAverageOverAllSamples() {
        StepFigures figures = new StepFigures();
        figures.add(result(3.0, 0, 0, 5), 0.5, 0.1);
        figures.add(result(1.0, 4), 1.5, 0.3);

        Reading own = figures.own();

        assertThat(own.batchSeconds()).isEqualTo(new Figure(1.5, 1.0));
        assertThat(own.dataSeconds()).isEqualTo(new Figure(0.3, 0.2));
        assertThat(own.loss()).isEqualTo(new Figure(1.0, 1.0));
        assertThat(own.top1()).isEqualTo(new Figure(0, 0.5));
        assertThat(own.top5()).isEqualTo(new Figure(1, 0.75));
    }

    /** Three samples on rank 0, one on rank 1: the mean of the ranks' means would be wrong. */
    @Test
    void allRanksReadTheFiguresOverAllSamples() {
        List<Reading> readings = Hvd.spawn(2, hvd -> {
            StepFigures figures = new StepFigures();
            figures.add(hvd.rank() == 0 ? result(6.0, 0, 0, 0) : result(4.0, 5), 1, 0);
            return figures.ofAllRanks(hvd);
        });

        assertThat(readings).allSatisfy(reading -> {
            assertThat(reading.loss().average()).isEqualTo(2.5);
            assertThat(reading.top1().last()).isEqualTo(0.75);
            assertThat(reading.top5().average()).isEqualTo(0.75);
        });
    }

    /** The first label in the line is that of the first sample; class 0 has the largest score, class 5 the smallest. */
    private static BatchResult result(double lossSum, long... labels) {
        float[] scores = new float[FALLING.length * labels.length];
        for (int i = 0; i < labels.length; i++) {
            System.arraycopy(FALLING, 0, scores, FALLING.length * i, FALLING.length);
        }
        return new BatchResult(lossSum, new ClassScores(scores, FALLING.length), labels);
    }
}
