package io.hvd.examples.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EpochCsvTest {
    private static final Instant START = Instant.parse("2026-01-02T03:04:05Z");

    @TempDir
    Path folder;

    @Test
    void everyEpochAddsALineBelowTheHead() throws IOException {
        Path file = folder.resolve("epochs.csv");
        EpochCsv csv = new EpochCsv(file);
        csv.add(START, 1.5);
        csv.add(START.plusSeconds(2), 0.25);
        assertThat(file).hasContent("start,seconds\n2026-01-02T03:04:05Z,1.500\n2026-01-02T03:04:07Z,0.250\n");
    }

    @Test
    void aDeviceTakesTheLines() throws IOException {
        new EpochCsv(Path.of("/dev/null")).add(START, 1);
    }

    @Test
    void whereNothingCanBeWrittenTheFileIsNamed() {
        assertThatThrownBy(() -> new EpochCsv(Path.of("/proc/epochs.csv")).add(START, 1))
                .hasMessageContaining("/proc/epochs.csv");
        assertThatThrownBy(() -> ResultFile.write(Path.of("/dev/full"), "text"))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("/dev/full: could not be written: No space left");
    }
}
