package io.hvd.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AimsTest {
    @TempDir
    Path folder;

    private String table(Result... results) throws IOException {
        List<String> lines = List.of(results).stream().map(Result::line).toList();
        return Aims.table(Files.write(folder.resolve("results"), lines));
    }

    private static Result result(String bench, int ranks, String opponent, double ours, double theirs) {
        return new Result(bench, ranks, 1L << 20, Spread.of(List.of(ours)), opponent, Spread.of(List.of(theirs)));
    }

    @Test
    void aTimeIsMetUpToItsBoundAndMissedAboveIt() throws IOException {
        assertThat(table(result("start-init", 4, "mpirun", 800_000, 1).withOthers(3.25)))
                .contains("all initialised | <= 800 ms | 800.0 ms | best 800.0 | 3.3 % | met |");
        assertThat(table(result("start-init", 4, "mpirun", 801_000, 1)))
                .contains("| 801.0 ms | best 801.0 | ? % | **missed** |");
    }

    @Test
    void theRatioOfNeighbouringTurnsCountsBeforeThatOfMedians() throws IOException {
        Result bare = result("training-mnist", 2, "torch[2-processes-without-communication]", 100, 96);

        assertThat(table(bare)).contains("share of processes alone | >= 0.95 | 0.9600 |  | ? % | met |");
        assertThat(table(bare.withPairs(Spread.of(List.of(0.9, 0.94, 0.95)))))
                .contains("| >= 0.95 | 0.9400 | 90 %: 0.9040 to 0.9490 | ? % | **missed** |");
    }

    @Test
    void opponentsAreToldApartAndTheLastResultCounts() throws IOException {
        String inStep = "torch[2-processes-without-communication,in-step]";
        String ddp = "torch[ddp-reducer,gloo]";

        String table = table(
                result("training-mnist", 2, inStep, 100, 50),
                result("training-mnist", 2, ddp, 100, 50),
                result("training-mnist", 2, ddp, 100, 110),
                result("training-mnist", 4, ddp, 100, 50));

        assertThat(table)
                .contains("MNIST step, 2 ranks: against the DDP reducer | >= 1 | 1.100 |  | ? % | met |")
                .contains("MNIST step, 2 ranks: share of processes alone | >= 0.95 | - | | | not measured |");
    }

    @Test
    void everyAimHasARowAndARunWithoutResultsIsRefused() throws IOException {
        assertThat(table(result("start-init", 4, "mpirun", 1, 1)).lines()).hasSize(2 + Aims.ALL.size());

        Path empty = Files.writeString(folder.resolve("empty"), "MACHINE cores=2\n");
        assertThatThrownBy(() -> Aims.table(empty))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("empty");
    }
}
