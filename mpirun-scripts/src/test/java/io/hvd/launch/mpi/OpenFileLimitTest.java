package io.hvd.launch.mpi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OpenFileLimitTest {

    @TempDir
    private Path root;

    private void limit(String value) throws IOException {
        Files.createDirectories(root.resolve("proc/self"));
        Files.writeString(
                root.resolve("proc/self/limits"),
                "Limit                     Soft Limit           Hard Limit           Units\n"
                        + "Max open files            " + value + "                   " + value
                        + "                 files\n");
    }

    @Test
    void withFewerThanMpirunNeedsNothingIsStartedAndTheNumberIsSaid() throws IOException {
        limit("40");

        assertThatThrownBy(() -> OpenFileLimit.require(root, 4))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll("open-files", "40 open files", "needs 44", "4 ranks", "ulimit -n", "nofile");
        assertThatCode(() -> OpenFileLimit.require(root, 2)).doesNotThrowAnyException();
    }

    @Test
    void withoutALimitOrWithoutWordOfItNothingIsInTheWay() throws IOException {
        assertThatCode(() -> OpenFileLimit.require(root, 400)).doesNotThrowAnyException();
        limit("unlimited");
        assertThatCode(() -> OpenFileLimit.require(root, 400)).doesNotThrowAnyException();
    }

    @Test
    void aHostNeedsWhatMpirunOrARankNeeds() {
        assertThat(OpenFileLimit.needed(2)).isEqualTo(64);
        assertThat(OpenFileLimit.needed(100)).isEqualTo(428);
    }
}
