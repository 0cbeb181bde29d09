package io.hvd.examples;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A learning rate that no training survives ends it by name, on all ranks together and with nothing saved. */
class DivergenceIT {
    private static final int DIVERGED = 3;

    @TempDir
    Path folder;

    @Test
    void aLossThatIsNoNumberIsTheFirstFailure() {
        requireFirstFailure("cifar10 --train-images 64 --test-images 32 --batch-size 16 --width 4 --epochs 3 -p 2");
    }

    /** Without a launcher it is tested every day. */
    @Test
    @Tag("long")
    void ofDigitsTooALossThatIsNoNumberIsTheFirstFailure() {
        requireFirstFailure("digits --epochs 3");
    }

    /** The example has the training loop of digits. */
    @Test
    @Tag("long")
    void ofMnistTooALossThatIsNoNumberIsTheFirstFailure() {
        requireFirstFailure("mnist --epochs 3 --max-steps 40");
    }

    private void requireFirstFailure(String flags) {
        Job job = TrainJar.horovodrun(
                2, words(flags, "--checkpoint", folder.resolve("net.ckpt").toString()));

        assertThat(job.exitCode()).as(job.output()).isEqualTo(DIVERGED);
        assertNamed(job, flags.split(" ")[0]);
        assertThat(job.lines("horovodrun: first failure: rank 0 on ")).hasSize(1);
        assertThat(job.lines("horovodrun: exit code 3")).hasSize(1);
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void withoutALauncherAndOnThreadsItEndsTheSameWay() {
        Job alone = TrainJar.alone(words("digits --epochs 2"));
        assertThat(alone.exitCode()).as(alone.output()).isEqualTo(DIVERGED);
        assertNamed(alone, "digits");
        Job threads = TrainJar.alone(words("digits --epochs 2 --threads 2"));
        assertThat(threads.exitCode()).as(threads.output()).isEqualTo(DIVERGED);
        assertNamed(threads, "digits");
    }

    private static void assertNamed(Job job, String example) {
        assertThat(job.lines(example + ": the "))
                .as(job.output())
                .isNotEmpty()
                .allSatisfy(line -> assertThat(line)
                        .containsPattern("loss (after|of) .*epoch 1 is (NaN|-?Infinity) over all ranks")
                        .contains("--lr"));
        assertThat(job.lines("RESULT ")).isEmpty();
        assertThat(job.output()).doesNotContain("\tat ");
    }

    private static String[] words(String flags, String... more) {
        List<String> words = new ArrayList<>(List.of(flags.split(" ")));
        words.addAll(List.of("--lr", "1e30"));
        Stream.of(more).forEach(words::add);
        return words.toArray(String[]::new);
    }
}
