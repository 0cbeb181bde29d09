package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.EvalSampler;
import io.hvd.examples.image.Predictions.Row;
import io.hvd.train.ClassScores;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PredictionsTest {
    @TempDir
    Path folder;

    /** With three images and four ranks one rank has nothing to tell. */
    @ParameterizedTest(name = "{0} ranks, {1} images")
    @CsvSource({"1, 5", "2, 5", "3, 8", "4, 3"})
    void everyRankGetsEveryImageOnceInTheDataSetsOrder(int ranks, int images) {
        List<List<Row>> found = Hvd.spawn(ranks, hvd -> predictions(hvd, images).ofAllRanks(hvd));

        assertThat(found).allSatisfy(rows -> {
            assertThat(rows).hasSize(images);
            for (int i = 0; i < images; i++) {
                assertThat(rows.get(i)).isEqualTo(new Row(i, i % 2, i % 3));
            }
        });
    }

    @Test
    void theFileHasALineForEveryImage() throws Exception {
        Path file = folder.resolve("predictions.csv");

        Predictions.write(List.of(new Row(0, 7, 7), new Row(1, 3, 5)), file);

        assertThat(file).hasContent("index,label,predicted\n0,7,7\n1,3,5\n");
    }

    /** Image i has the label i mod 2 and is taken for class i mod 3; it comes in batches of two. */
    private static Predictions predictions(HvdContext hvd, int images) {
        int[] mine = new EvalSampler(images, hvd.size(), hvd.rank()).indices();
        Predictions predictions = new Predictions(mine);
        for (int first = 0; first < mine.length; first += 2) {
            int count = Math.min(2, mine.length - first);
            float[] scores = new float[3 * count];
            long[] labels = new long[count];
            for (int i = 0; i < count; i++) {
                scores[3 * i + mine[first + i] % 3] = 1;
                labels[i] = mine[first + i] % 2;
            }
            predictions.accept(new BatchResult(0, new ClassScores(scores, 3), labels));
        }
        return predictions;
    }
}
