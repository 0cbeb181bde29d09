package io.hvd.data.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.schema.MessageType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A million rows with a vector of 16 floats each: a file with one row group of half of them, and one with five. */
@Tag("long")
class ParquetMillionIT {
    private static final int ROWS = 1_000_000;
    private static final int SAVED = 450;
    private static final MessageType SCHEMA = ParquetFiles.schema("required int32 id; required binary text (STRING);"
            + " required group vector (LIST) { repeated group list { required float element; } }");

    @TempDir
    Path folder;

    @Test
    void fourProcessesOfWhichOneIsKilledAndThreeThatGoOnSeeEachRowOnce() throws Exception {
        Path data = Files.createDirectory(folder.resolve("data"));
        List<Path> files = List.of(write(data, 0, 1_000_000), write(data, 1, 100_000));
        Path seen = Files.createDirectory(folder.resolve("seen"));

        Job killed = run(4, data, seen, SAVED + 25);
        assertThat(killed.exitCode()).as(killed.output()).isNotZero();
        assertThat(ParquetProgram.read(seen.resolve("state")))
                .containsEntry("seen", "4:" + SAVED * ParquetProgram.BATCH);
        Job resumed = run(3, data, seen, 0);
        assertThat(resumed.exitCode()).as(resumed.output()).isZero();
        assertThat(resumed.lines("ENDED")).hasSize(3);

        int[] times = new int[ROWS];
        for (int rank = 0; rank < 4; rank++) {
            count(seen.resolve("seen-4-" + rank), SAVED * ParquetProgram.BATCH, times);
        }
        for (int rank = 0; rank < 3; rank++) {
            Path file = seen.resolve("seen-3-" + rank);
            count(file, (int) (Files.size(file) / Integer.BYTES), times);
        }
        assertThat(times).containsOnly(1);
        killed.lines("FIRST").forEach(line -> print("at row 0: %s", line));
        resumed.lines("FIRST").forEach(line -> print("at row 900,000: %s", line));
        resumed.lines("ENDED").forEach(line -> print("%s", line));
        printSeeks(files);
    }

    private static Job run(int ranks, Path data, Path seen, int lastStep) {
        return Job.horovodrun(
                ranks,
                Map.of("HVD_THREADS_PER_RANK", "1"),
                ParquetProgram.class,
                data.toString(),
                seen.toString(),
                String.valueOf(lastStep));
    }

    private static void count(Path seen, int rows, int[] times) throws IOException {
        try (var in = new DataInputStream(new BufferedInputStream(Files.newInputStream(seen)))) {
            for (int i = 0; i < rows; i++) {
                times[in.readInt()]++;
            }
        }
    }

    /** By index, in this JVM, which has read no row before; each time the files are opened anew. */
    private static void printSeeks(List<Path> files) throws InterruptedException {
        for (int row : new int[] {900_000, 0, 450_000, ROWS - 1}) {
            long begun = System.nanoTime();
            var rows = ParquetProgram.open(files);
            double opened = secondsSince(begun);
            ParquetProgram.Sample sample = rows.get(row);
            print("row %,d: footers %.3f s, with the row %.3f s", row, opened, secondsSince(begun));
            assertThat(sample.id()).isEqualTo(row);
            assertThat(sample.vector()).hasSize(16).startsWith(row);
        }
    }

    private static Path write(Path data, int number, int groupRows) throws IOException {
        int before = number * (ROWS / 2);
        Path file = data.resolve("rows-" + number + ".parquet");
        var writer = ParquetFiles.writer(file, SCHEMA).withRowGroupRowCountLimit(groupRows);
        return ParquetFiles.write(writer, file, ROWS / 2, i -> row(before + i));
    }

    private static Group row(int id) {
        var row = new SimpleGroup(SCHEMA);
        row.append("id", id).append("text", "the text of row " + id);
        Group list = row.addGroup("vector");
        for (int e = 0; e < 16; e++) {
            list.addGroup("list").append("element", (float) id / (e + 1));
        }
        return row;
    }

    private static double secondsSince(long begun) {
        return (System.nanoTime() - begun) / 1e9;
    }

    private static void print(String format, Object... values) {
        System.out.print(String.format(Locale.ROOT, format + "%n", values));
    }
}
