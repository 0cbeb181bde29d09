package io.hvd.data.parquet;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.arrow.vector.IntVector;
import org.apache.arrow.vector.compression.CompressionUtil.CodecType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Programs that read Arrow files, with and without what they need for that. */
class ArrowIT {
    private static final String OPENS = "--add-opens=java.base/java.nio=ALL-UNNAMED";

    @TempDir
    private static Path folder;

    /** The program. Its arguments are the files. */
    static final class Sum {
        private Sum() {}

        public static void main(String[] args) throws Exception {
            List<Path> files = Stream.of(args).map(Path::of).toList();
            var rows = ArrowDataset.builder(files, row -> row.getInt("id")).build();
            long sum = 0;
            for (int i = 0; i < rows.size(); i++) {
                sum += rows.get(i);
            }
            System.out.println("SUM " + sum);
        }
    }

    @BeforeAll
    static void write() throws IOException {
        ArrowFiles.ids(folder, 10, 100);
        ArrowFiles.write(
                folder.resolve("zstd.arrow"),
                ArrowFiles.IDS,
                CodecType.ZSTD,
                new int[] {50, 50},
                (root, place, row) -> ((IntVector) root.getVector("id")).setSafe(place, row));
    }

    /** @param flags of java @param without the jars whose names have this */
    private static Job run(List<String> flags, String without) {
        return run(flags, without, "ids-0.arrow");
    }

    private static Job run(List<String> flags, String without, String file) {
        String classPath = Stream.of(
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                                .split(File.pathSeparator))
                .filter(entry -> !entry.contains(without))
                .collect(Collectors.joining(File.pathSeparator));
        List<String> line = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        line.addAll(flags);
        line.addAll(List.of("-cp", classPath, Sum.class.getName(), folder.resolve(file) + ""));
        return Job.run(line, Map.of());
    }

    @Test
    void aProgramWithoutTheLibraryForCompressionReadsFilesThatAreNotCompressed() {
        Job job = run(List.of(OPENS), "arrow-compression");

        assertThat(job.lines("SUM 4950")).as(job.output()).hasSize(1);
    }

    @Test
    void theCodecAndTheLibraryThatIsMissingAreNamedBeforeARowIsRead() {
        assertThat(run(List.of(OPENS), "no jar", "zstd.arrow").lines("SUM 4950"))
                .hasSize(1);
        Job job = run(List.of(OPENS), "arrow-compression", "zstd.arrow");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output())
                .contains("HVD-511", "zstd.arrow cannot be read as an Arrow file", "arrow-compression", "ZSTD");
    }

    @Test
    void theOptionOfJavaThatIsMissingIsNamed() {
        Job job = run(List.of(), "arrow-compression");

        assertThat(job.exitCode()).isEqualTo(1);
        assertThat(job.output())
                .contains("HVD-201", "Arrow files need Java to be started with " + OPENS)
                .doesNotContain("ExceptionInInitializerError");
    }

    @Test
    void theLibraryThatIsMissingIsNamed() {
        for (String library : List.of("arrow-vector", "arrow-memory", "arrow-memory-unsafe")) {
            Job job = run(List.of(OPENS), library);

            assertThat(job.exitCode()).isEqualTo(1);
            assertThat(job.output()).contains("HVD-201", "Arrow files need org.apache.arrow:arrow-vector and");
        }
    }
}
