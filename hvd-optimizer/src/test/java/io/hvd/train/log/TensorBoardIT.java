package io.hvd.train.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.hvd.Hvd;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * TensorBoard itself reads what a {@link ScalarWriter} has written, and leaves out what a resumed training does. The property
 * {@code hvd.test.python} names a Python other than {@code python3} that has its package.
 */
@Tag("long")
class TensorBoardIT {
    private static final String PYTHON = System.getProperty("hvd.test.python", "python3");

    private static final String SCRIPT = """
            import sys
            from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
            events = EventAccumulator(sys.argv[1]).Reload()
            for tag in sorted(events.Tags()["scalars"]):
                print(tag, [(s.step, round(s.value, 6)) for s in events.Scalars(tag)])
            """;

    @TempDir
    Path folder;

    private int python(String script, Path out) throws IOException, InterruptedException {
        return new ProcessBuilder(PYTHON, "-c", script, folder.resolve("run").toString())
                .redirectOutput(out.toFile())
                .redirectError(folder.resolve("err").toFile())
                .start()
                .waitFor();
    }

    private boolean hasTensorBoard() throws InterruptedException {
        try {
            return python("import tensorboard", folder.resolve("none")) == 0;
        } catch (IOException e) {
            return false;
        }
    }

    @Test
    void tensorBoardReadsTheCurvesOfATrainingThatWasResumed() throws Exception {
        assumeTrue(hasTensorBoard(), "no Python with tensorboard; -Dhvd.test.python names one");
        Hvd.spawn(1, hvd -> {
            try (ScalarWriter writer = ScalarWriter.open(hvd, folder.resolve("run"))) {
                writer.addScalar("loss", 0.5, 1);
                writer.addScalar("loss", 0.25, 2);
                writer.addScalar("loss", 9, 3);
            }
            try (ScalarWriter writer = ScalarWriter.resume(hvd, folder.resolve("run"), 2)) {
                writer.addScalar("loss", 0.125, 3);
                writer.addScalar("accuracy/Prüfung", 1, 3);
            }
            return 0;
        });
        Path out = folder.resolve("out");
        assertThat(python(SCRIPT, out))
                .as(Files.readString(folder.resolve("err")))
                .isZero();
        assertThat(Files.readAllLines(out))
                .containsExactly("accuracy/Prüfung [(3, 1.0)]", "loss [(1, 0.5), (2, 0.25), (3, 0.125)]");
    }
}
