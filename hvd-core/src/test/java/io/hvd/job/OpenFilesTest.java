package io.hvd.job;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OpenFilesTest {
    private static final int OPEN = 10;

    @TempDir
    private Path proc;

    @BeforeEach
    void openSome() throws IOException {
        Files.createDirectories(proc.resolve("self/fd"));
        for (int i = 0; i <= OPEN; i++) {
            Files.createFile(proc.resolve("self/fd/" + i)); // one of them is the folder itself
        }
    }

    private void limit(int limit) throws IOException {
        Files.writeString(
                proc.resolve("self/limits"), "Max open files            " + limit + "      " + limit + "     files\n");
    }

    private static HvdConfig rank(int rank, int size) {
        return HvdConfig.from(Map.of("OMPI_COMM_WORLD_RANK", "" + rank, "OMPI_COMM_WORLD_SIZE", "" + size));
    }

    @Test
    void aRankThatMayNotOpenEnoughSaysHowManyItNeeds() throws IOException {
        limit(39);

        assertThatThrownBy(() -> OpenFiles.require(rank(1, 4), proc))
                .isInstanceOf(HvdException.class)
                .hasMessageContainingAll("HVD-102", "39 open files", "has 10", "30 more", "at least 40", "ulimit -n");
        limit(40);
        assertThatCode(() -> OpenFiles.require(rank(1, 4), proc)).doesNotThrowAnyException();
    }

    @Test
    void rankZeroNeedsMoreForEachOtherRank() throws IOException {
        limit(100);

        assertThatThrownBy(() -> OpenFiles.require(rank(0, 64), proc)).hasMessageContaining("at least 164");
        assertThatCode(() -> OpenFiles.require(rank(1, 64), proc)).doesNotThrowAnyException();
    }

    @Test
    void aProcessByItselfNeedsNone() throws IOException {
        limit(11);

        assertThatCode(() -> OpenFiles.require(HvdConfig.from(Map.of()), proc)).doesNotThrowAnyException();
    }

    @Test
    void whereNobodyTellsTheLimitNothingIsInTheWay() {
        assertThatCode(() -> OpenFiles.require(rank(0, 4), proc.resolve("none")))
                .doesNotThrowAnyException();
    }
}
