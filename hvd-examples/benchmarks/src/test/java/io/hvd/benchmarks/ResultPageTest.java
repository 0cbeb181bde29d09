package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultPageTest {
    private static final String PAGE = "# Figures\n" + ResultPage.BEGIN + "\nold\n" + ResultPage.END + "\nlast words\n";

    @TempDir
    Path folder;

    private Path results;
    private Path page;

    @BeforeEach
    void files() throws IOException {
        results = folder.resolve("results.txt");
        page = Files.writeString(folder.resolve("page.md"), PAGE);
        List<String> lines = new ArrayList<>(List.of(
                "MACHINE date=2026-01-02 cores=2 cpu=Abacus load=0.1",
                "COMMAND mpirun-scripts/bench-allreduce.sh --ranks 2",
                "   1.0 s  words of the progress"));
        for (long bytes : new long[] {4, 1024, 65536}) {
            lines.add(line("allreduce-raw", 2, bytes, "mpi.jar-4.1.4[ring]", 3));
            lines.add(line("allreduce-raw", 2, bytes, "mpi.jar-4.1.4[best:ring]", 3));
        }
        lines.add("MACHINE date=2026-01-02 cores=2 cpu=Abacus load=2.5");
        lines.add("COMMAND mpirun-scripts/bench-scale.sh");
        for (int ranks : new int[] {2, 8, 64}) {
            lines.add(line("scale-1-tensors", ranks, 256, "hvd[HVD_STATIC_PLAN_STEPS=0]", 5));
        }
        lines.add(line("kernel-pack-float16", 1, 65536, "jdk-17[FloatBuffer.put]", 0.5));
        lines.add(line("kernel-sum-int8", 1, 65536, "jdk-17[float[]-loop]", 0.25));
        lines.add(line("training-mnist", 2, 64, "ddp-reducer[gloo]", 1.5));
        Files.write(results, lines);
    }

    private static String line(String bench, int ranks, long bytes, String opponent, double times) {
        Spread ours = Spread.of(List.of(2.0 * ranks));
        return new Result(bench, ranks, bytes, ours, opponent, Spread.of(List.of(2.0 * ranks * times))).line();
    }

    @Test
    void theTablesTakeThePlaceOfTheOldOnes() throws IOException {
        new ResultPage(results).writeInto(page);

        String text = Files.readString(page);
        assertThat(text).startsWith("# Figures\n" + ResultPage.BEGIN).endsWith(ResultPage.END + "\nlast words\n");
        assertThat(text).doesNotContain("old", "progress");
        assertThat(text)
                .contains(
                        "| allreduce-raw | 2 | 1024 | 4.000 (4.000) | `mpi.jar-4.1.4[best:ring]` | 12.00 (12.00) | **3.000** |");
        assertThat(text).doesNotContain("`mpi.jar-4.1.4[ring]`");
        assertThat(text)
                .contains("| 64 | 256 |", "### training-mnist", "**1.500**", "### kernels", "| kernel-sum-int8 | 1 |");
    }

    @Test
    void aRowHasThePairsInOneCellAndNeitherBandwidthsNorRounds() throws IOException {
        Result taken = new Result("start-init", 4, 0, Spread.of(List.of(2.0)), "mpirun", Spread.of(List.of(4.0)))
                .with("algbw_gbs", 7.5)
                .with("pair_ratio", 2.25)
                .with("pair_ratio_5", 1.5)
                .with("pair_ratio_95", 2.5)
                .with("wire", 64);
        Files.write(results, List.of(taken.line()));

        new ResultPage(results).writeInto(page);

        assertThat(Files.readString(page))
                .contains("| **2.000** | 2.250 (1.500 to 2.500) | wire 64.00 |")
                .doesNotContain("algbw", "rounds");
    }

    @Test
    void machineAndCommandsStandFirst() throws IOException {
        new ResultPage(results).writeInto(page);

        assertThat(Files.readString(page))
                .containsOnlyOnce("On date=2026-01-02, cores=2, cpu=Abacus:")
                .contains("- `mpirun-scripts/bench-allreduce.sh --ranks 2`", "- `mpirun-scripts/bench-scale.sh`");
    }

    @Test
    void eachBenchmarkHasItsPlot() throws IOException {
        new ResultPage(results).writeInto(page);

        for (String name : List.of("allreduce-raw-2-ranks", "scale-1-tensors", "training-mnist", "kernels")) {
            assertThat(Files.readString(page)).contains("(img/" + name + ".png)");
            var image =
                    ImageIO.read(folder.resolve("img").resolve(name + ".png").toFile());
            assertThat(image.getWidth()).isEqualTo(900);
        }
    }

    @Test
    void aSecondRunChangesNothing() throws IOException {
        new ResultPage(results).writeInto(page);
        String once = Files.readString(page);
        new ResultPage(results).writeInto(page);

        assertThat(Files.readString(page)).isEqualTo(once);
    }

    @Test
    void aFileWithoutResultsIsRefused() throws IOException {
        Files.writeString(results, "nothing\n");

        assertThatThrownBy(() -> new ResultPage(results))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("RESULT")
                .hasMessageContaining("tee");
    }

    @Test
    void aPageWithoutRoomIsRefused() throws IOException {
        Files.writeString(page, "# Figures\n");

        assertThatThrownBy(() -> new ResultPage(results).writeInto(page))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(ResultPage.BEGIN);
    }

    @Test
    void theProjectsPageHasRoom() throws IOException {
        assertThat(Files.readString(Path.of("..", "..", "docs", "records", "benchmarks.md")))
                .contains(ResultPage.BEGIN, ResultPage.END);
    }
}
