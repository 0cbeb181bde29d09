package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What several ranks print at the same time, as the user of a real job sees it. */
class OutputLinesIT {
    private static final int LINES = 50;

    private static List<String> expected(int ranks, String begin) {
        return IntStream.range(0, ranks)
                .boxed()
                .flatMap(rank -> IntStream.range(0, LINES)
                        .boxed()
                        .flatMap(line -> Stream.of("out", "err")
                                .map(stream -> String.format(Locale.ROOT, begin, rank) + stream + " " + rank + " of "
                                        + ranks + " line " + line + ".")))
                .toList();
    }

    private static Job horovodrun(int ranks, String flag) {
        List<String> program = new ArrayList<>(List.of(flag));
        program.addAll(Job.program(OutputLinesProgram.class));
        return Job.horovodrun(ranks, Map.of(), program);
    }

    private static List<String> lines(Job job) {
        return job.output()
                .lines()
                .filter(line -> line.contains("out ") || line.contains("err "))
                .filter(line -> line.contains(" line "))
                .toList();
    }

    @Test
    void linesThatPrintfWritesInPiecesComeWhole() {
        Job job = Job.horovodrun(2, OutputLinesProgram.class);

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(lines(job)).containsExactlyInAnyOrderElementsOf(expected(2, ""));
    }

    @Test
    void eachLineOfFourRanksBeginsWithTheRankThatPrintsIt() {
        Job job = horovodrun(4, "--prefix-output-with-rank");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(lines(job)).containsExactlyInAnyOrderElementsOf(expected(4, "[%d] "));
    }

    /** Between two pieces mpirun would put its own tags. */
    @Test
    void aTimestampStandsOncePerLine() {
        Job job = horovodrun(2, "--prefix-output-with-timestamp");

        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(lines(job).stream().map(line -> line.replaceFirst("^.*>: ?", "")))
                .containsExactlyInAnyOrderElementsOf(expected(2, ""));
        assertThat(lines(job)).allMatch(line -> line.split("<std", -1).length == 2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "throw"})
    void halfALineThatARankLeavesAtItsEndIsNotLost(String end) {
        Job job = Job.horovodrun(2, OutputLinesProgram.class, end);

        assertThat(job.exitCode()).isNotZero();
        assertThat(job.output()).contains("half a line");
    }
}
