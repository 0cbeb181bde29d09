package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.Hvd;
import io.hvd.examples.data.ImageSets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** On ranks that are threads of this JVM, each with statistics and gradients of its own. */
class CifarTrainingTest {
    /** 31 test images cannot be dealt evenly to 3 ranks. */
    @Test
    void everyRankFindsTheSameMeansOverAllTestImages() throws Exception {
        CifarOptions options = CifarOptionsTest.parse(
                "--width 2 -b 12 --epochs 1 --max-steps 3 --train-images 60 --test-images 31 --print-freq 2 --images-per-pass 3");
        ImageSets images = CifarExample.images(options);

        List<Evaluation> found = Hvd.spawn(3, hvd -> new CifarTraining(hvd, options, images).run());

        assertThat(found.get(0).samples()).isEqualTo(31);
        assertThat(found.get(0).top5()).isGreaterThanOrEqualTo(found.get(0).accuracy());
        assertThat(found).hasSize(3).containsOnly(found.get(0));
    }
}
