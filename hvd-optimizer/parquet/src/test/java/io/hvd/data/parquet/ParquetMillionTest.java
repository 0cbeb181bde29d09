package io.hvd.data.parquet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Hvd;
import io.hvd.HvdContext;
import io.hvd.data.DataLoader;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.schema.MessageType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A million rows with a vector of 16 floats each, in 4 files with row groups of 100,000 rows. */
@Tag("long")
class ParquetMillionTest {
    private static final int ROWS = 1_000_000;
    private static final int FILES = 4;
    private static final int BATCH = 500;
    private static final int STEPS_BEFORE_THE_END = 450;
    private static final MessageType SCHEMA = ParquetFiles.schema("required int32 id; required binary text (STRING);"
            + " required group vector (LIST) { repeated group list { required float element; } }");

    @TempDir
    Path folder;

    private record Sample(int id, float[] vector) {}

    private final AtomicIntegerArray seen = new AtomicIntegerArray(ROWS);
    private final AtomicReference<Map<String, String>> checkpoint = new AtomicReference<>();

    @Test
    void fourRanksThatEndAndThreeThatGoOnSeeEachRowOnce() throws Exception {
        List<Path> files = write();
        long begun = System.nanoTime();
        assertThatThrownBy(() -> Hvd.spawn(4, hvd -> train(hvd, files, STEPS_BEFORE_THE_END)))
                .isInstanceOf(HvdException.class)
                .hasStackTraceContaining("the end of rank 2");
        print("%,d rows on 4 ranks: %.1f s", 4 * BATCH * STEPS_BEFORE_THE_END, secondsSince(begun));
        assertThat(checkpoint.get()).containsEntry("seen", "4:" + BATCH * STEPS_BEFORE_THE_END);

        begun = System.nanoTime();
        List<Double> firstBatches = Hvd.spawn(3, hvd -> train(hvd, files, Integer.MAX_VALUE));
        print(
                "the rest on 3 ranks: %.1f s; to their first batches at row 900,000: %s s",
                secondsSince(begun), firstBatches);
        for (int id = 0; id < ROWS; id++) {
            assertThat(seen.get(id)).as("row %d", id).isEqualTo(1);
        }
        printSeeks(files);
    }

    /** What one rank does; returns the seconds from opening the files to its first batch. */
    private double train(HvdContext hvd, List<Path> files, int stepsBeforeTheEnd) {
        long begun = System.nanoTime();
        double first = 0;
        var rows = open(files);
        var sampler = RowGroupSampler.builder(rows, hvd.size(), hvd.rank())
                .padded(false)
                .seed(3)
                .build();
        if (checkpoint.get() != null) {
            sampler.loadState(checkpoint.get());
        }
        try (var loader = DataLoader.<Sample, List<Sample>>builder(rows, sampler, List::copyOf)
                .batchSize(BATCH)
                .workers(1)
                .build()) {
            int step = 0;
            for (List<Sample> batch : loader) {
                first = step == 0 ? secondsSince(begun) : first;
                batch.forEach(sample -> seen.incrementAndGet(sample.id));
                if (++step == stepsBeforeTheEnd) {
                    hvd.barrier();
                    checkpoint.set(sampler.saveState());
                    hvd.barrier();
                    if (hvd.rank() == 2) {
                        throw new IllegalStateException("the end of rank 2");
                    }
                    hvd.barrier();
                }
            }
        }
        print("rank %d of %d: %,d blocks decoded", hvd.rank(), hvd.size(), rows.blocksDecoded());
        return first;
    }

    private static ParquetDataset<Sample> open(List<Path> files) {
        return ParquetDataset.builder(files, row -> new Sample(row.getInt("id"), row.floats("vector")))
                .columns("id", "vector")
                .build();
    }

    /** In this JVM, which has read rows before; each time the files are opened anew. */
    private static void printSeeks(List<Path> files) throws InterruptedException {
        for (int row : new int[] {0, 500_000, 900_000, ROWS - 1}) {
            long begun = System.nanoTime();
            var rows = open(files);
            double opened = secondsSince(begun);
            Sample sample = rows.get(row);
            print("row %,d: footers %.3f s, with the row %.3f s", row, opened, secondsSince(begun));
            assertThat(sample.id).isEqualTo(row);
            assertThat(sample.vector).hasSize(16).startsWith(row);
        }
    }

    private List<Path> write() throws Exception {
        List<Path> files = new ArrayList<>();
        for (int number = 0; number < FILES; number++) {
            int before = number * (ROWS / FILES);
            Path file = folder.resolve("rows-" + number + ".parquet");
            var writer = ParquetFiles.writer(file, SCHEMA).withRowGroupRowCountLimit(100_000);
            files.add(ParquetFiles.write(writer, file, ROWS / FILES, i -> row(before + i)));
        }
        return files;
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
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
