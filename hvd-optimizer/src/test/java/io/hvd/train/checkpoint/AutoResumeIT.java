package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Real processes of which one is killed, or gets SIGTERM, in the middle of the second epoch, which 4 ranks begin after step 13; other
 * numbers of ranks go on.
 */
class AutoResumeIT {
    private static final int SIGNALLED_AFTER = 18;

    @TempDir
    Path folder;

    /** With {@code sets} every rank writes its share. */
    private String checkpoints = "checkpoints";

    @Test
    void fourRanksOfWhichOneIsKilledInTheMiddleOfAnEpochGoOnAsTwo() throws IOException {
        endAndGoOn("KILL", 2);
    }

    @Test
    void fourRanksThatEachWriteTheirShareAndOfWhichOneIsKilledGoOnAsThree() throws IOException {
        checkpoints = "sets";
        endAndGoOn("KILL", 3);
    }

    @Test
    void fourRanksOfWhichOneGetsSigtermSaveEndWellAndGoOnAsThree() throws IOException {
        endAndGoOn("TERM", 3);
    }

    @Test
    void aSignalBeforeTheFirstBatchEndsBothRanksWellWithoutOne() throws IOException {
        Job job = run(2, Files.createDirectory(folder.resolve("first")), "EARLY");
        assertThat(job.exitCode()).as(job.output()).isZero();
        assertThat(job.lines("ENDED terminated=true steps=0 epoch=0")).hasSize(1);
    }

    @Tag("long")
    @Test
    void fourRanksThatEachWriteTheirShareAndGetSigtermGoOnAsTwo() throws IOException {
        checkpoints = "sets";
        endAndGoOn("TERM", 2);
    }

    @Tag("long")
    @ParameterizedTest
    @CsvSource({"KILL, 3", "KILL, 8", "TERM, 8", "KILL, 1", "TERM, 4"})
    void fourRanksGoOnAsAnyOtherNumber(String signal, int ranks) throws IOException {
        endAndGoOn(signal, ranks);
    }

    private void endAndGoOn(String signal, int ranks) throws IOException {
        Path first = Files.createDirectory(folder.resolve("first"));
        Path second = Files.createDirectory(folder.resolve("second"));
        Job ended = run(4, first, signal);
        long saved = signal.equals("KILL") ? killed(ended) : terminated(ended);
        Job resumed = run(ranks, second, "none");

        assertThat(resumed.exitCode()).as(resumed.output()).isZero();
        assertThat(resumed.output())
                .contains(String.format(
                        Locale.ROOT,
                        "step-%010d%s, which 4 ranks have written",
                        saved,
                        checkpoints.equals("sets") ? "" : ".safetensors"));
        assertThat(resumed.lines("ENDED terminated=false"))
                .hasSize(1)
                .first()
                .asString()
                .contains("epoch=3");
        List<long[]> all =
                new ArrayList<>(seen(first).filter(one -> one[1] <= saved).toList());
        all.addAll(seen(second).toList());
        requireEverySampleOnce(all);
        requireFallingLoss(resumed.lines("ENDED").get(0));
    }

    /** The steps after the last checkpoint are lost, and made again. */
    private long killed(Job job) throws IOException {
        assertThat(job.exitCode()).as(job.output()).isNotZero();
        long saved = new CheckpointFolder(folder.resolve(checkpoints)).steps().get(0);
        assertThat(saved).as("of the second epoch").isBetween(14L, 26L);
        return saved;
    }

    private static long terminated(Job job) {
        assertThat(job.exitCode()).as(job.output()).isZero();
        String line = job.lines("ENDED terminated=true").get(0);
        assertThat(line).contains("epoch=1");
        long steps = Long.parseLong(line.replaceAll(".* steps=(\\d+) .*", "$1"));
        assertThat(steps).as("after the next step or the one behind it").isBetween(19L, 26L);
        return steps;
    }

    private Job run(int ranks, Path points, String signal) {
        return Job.horovodrun(
                ranks,
                Map.of("HVD_THREADS_PER_RANK", "1"),
                LineFitProgram.class,
                folder.resolve(checkpoints).toString(),
                points.toString(),
                signal,
                String.valueOf(SIGNALLED_AFTER));
    }

    /** Epoch, step and point of each line. */
    private static Stream<long[]> seen(Path points) throws IOException {
        List<long[]> seen = new ArrayList<>();
        try (Stream<Path> files = Files.list(points)) {
            for (Path file : files.toList()) {
                Files.readAllLines(file)
                        .forEach(line -> seen.add(Stream.of(line.split(" "))
                                .mapToLong(Long::parseLong)
                                .toArray()));
            }
        }
        return seen.stream();
    }

    private static void requireEverySampleOnce(List<long[]> all) {
        for (int epoch = 0; epoch < LineFitProgram.EPOCHS; epoch++) {
            long of = epoch;
            assertThat(all.stream().filter(one -> one[0] == of).map(one -> (int) one[2]))
                    .as("epoch %d", epoch)
                    .containsExactlyInAnyOrderElementsOf(
                            IntStream.range(0, LineFit.POINTS).boxed().toList());
        }
    }

    /** A line from 0 has the loss 6.3; an uninterrupted run on 4 ranks comes below 0.1 in its second epoch. */
    private static void requireFallingLoss(String line) {
        String[] losses = line.replaceAll(".*losses=\\[(.*)]", "$1").split(", ");
        assertThat(losses).hasSize(2);
        assertThat(Double.parseDouble(losses[1])).isLessThan(0.1);
    }
}
