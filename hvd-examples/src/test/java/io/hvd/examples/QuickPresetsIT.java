package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The quick runs of the larger examples on two processes, through the real jar; every day their ranks are threads. */
@Tag("long")
class QuickPresetsIT {
    @Test
    void theResidualNetLearnsDrawnImagesOfDifferentSizes() {
        Job job = TrainJar.horovodrun(2, "imagenet", "--preset", "quick");

        ResultLine result = ResultLine.of(job);
        assertThat(result.example()).isEqualTo("imagenet");
        assertThat(result.steps()).isEqualTo(3 * 20);
        assertThat(result.evaluated()).hasValue(128);
        assertThat(result.accuracy()).isGreaterThan(0.6);
        assertThat(result.data()).isEqualTo("drawn");
    }

    @Test
    void theGeneratorCoversAllEightModes() {
        Job job = TrainJar.horovodrun(2, "gan", "--preset", "quick");

        assertThat(ResultLine.of(job).accuracy()).isGreaterThan(0.5);
        assertThat(job.lines("RESULT ")).singleElement().asString().contains(" modes=8 covered=8 ");
    }

    @Test
    void theTransformerLearnsToSpell() {
        Job job = TrainJar.horovodrun(2, "char-lm", "--model", "transformer", "--preset", "quick", "--bf16");

        assertThat(ResultLine.of(job).accuracy()).isGreaterThan(0.5);
        assertThat(job.lines("weights of all ranks are equal")).hasSize(1);
    }
}
