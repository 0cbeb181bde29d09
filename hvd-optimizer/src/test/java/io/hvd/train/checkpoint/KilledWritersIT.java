package io.hvd.train.checkpoint;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process is killed at random moments while all of its ranks write; the next one goes on with another number of ranks. */
class KilledWritersIT {
    private static final int[] RANKS = {4, 3, 1, 4, 2};
    /** Averages of as many equal numbers are exact, so that a step is the same to the bit. */
    private static final int[] RANKS_OF_SHARDS = {4, 2, 1, 4, 2};

    private static final int MOST_MILLIS = 1500;
    private static final int LIMIT_SECONDS = 180;

    @TempDir
    Path folder;

    private Path series;

    private final Random random = new Random(Long.getLong("hvd.test.seed", System.nanoTime()));
    /** The sum after each step, whichever run has made it. */
    private final Map<Long, String> sums = new HashMap<>();

    /** What a run has had else than another one; null for none. */
    private volatile String difference;

    private int resumed;
    private int unfinished;

    @Test
    void tenKilledProcessesLeaveAWholeCheckpointEachTime() throws Exception {
        kill(10);
    }

    @Tag("long")
    @Test
    void twoHundredKilledProcessesLeaveAWholeCheckpointEachTime() throws Exception {
        kill(200);
    }

    /** Each rank has a shard of every parameter, which the next run cuts otherwise. */
    @Test
    void sixKilledProcessesOfShardedModelsLeaveAWholeCheckpointEachTime() throws Exception {
        kill(6, KilledShardsProgram.class, RANKS_OF_SHARDS);
    }

    private void kill(int times) throws Exception {
        kill(times, KilledWritersProgram.class, RANKS);
    }

    private void kill(int times, Class<?> program, int... ranks) throws Exception {
        series = Files.createDirectory(folder.resolve("series"));
        long last = 0;
        for (int i = 0; i < times; i++) {
            last = life(program, i, ranks[i % ranks.length], last);
        }
        System.out.printf(
                Locale.ROOT,
                "%d processes were killed; %d of them had gone on from a checkpoint, up to step %d; %d times a set was"
                        + " left unfinished%n",
                times,
                resumed,
                last,
                unfinished);
        assertThat(resumed).as("all but the first").isEqualTo(times - 1);
        try (Stream<Path> left = Files.list(series)) {
            assertThat(left)
                    .as("checkpoints that are kept, and what the last kill has left")
                    .hasSizeLessThan(6);
        }
    }

    /** @param last step of which there is a whole checkpoint @return that of this life */
    private long life(Class<?> program, int number, int ranks, long last) throws Exception {
        List<String> command = Stream.concat(
                        Job.program(program, series.toString(), String.valueOf(ranks)).stream(),
                        number % 2 == 0 ? Stream.of() : Stream.of("shared"))
                .toList();
        Path log = folder.resolve("log");
        Process process =
                new ProcessBuilder(command).redirectError(log.toFile()).start();
        try (BufferedReader lines = process.inputReader()) {
            CompletableFuture<Boolean> begun = new CompletableFuture<>();
            AtomicLong first = new AtomicLong(-1);
            Thread reader = new Thread(() -> read(lines, begun, first));
            reader.start();
            assertThat(begun.get(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as(Files.readString(log))
                    .isTrue();
            TimeUnit.MILLISECONDS.sleep(random.nextInt(MOST_MILLIS)); // the moment is the test
            process.destroyForcibly().waitFor();
            reader.join();
            assertThat(difference).isNull();
            assertThat(first.get()).as(Files.readString(log)).isEqualTo(last);
            resumed += first.get() > 0 ? 1 : 0;
        }
        try (Stream<Path> left = Files.list(series)) {
            unfinished += left.anyMatch(path -> path.getFileName().toString().startsWith(".")) ? 1 : 0;
        }
        return new CheckpointFolder(series).steps().stream().findFirst().orElse(0L);
    }

    private void read(BufferedReader lines, CompletableFuture<Boolean> begun, AtomicLong first) {
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.split(" ");
                if (first.get() == 0 && !new CheckpointFolder(series).steps().isEmpty()) {
                    begun.complete(true); // the first process lives until it has written one
                }
                if (words.length == 3 && words[2].matches("[0-9a-f]{8,16}")) {
                    long step = Long.parseLong(words[1]);
                    String before = sums.putIfAbsent(step, words[2]);
                    if (before != null && !before.equals(words[2])) {
                        difference = line + " where another run had " + before;
                    }
                    if (words[0].equals("BEGIN")) {
                        first.set(step);
                        if (step > 0) {
                            begun.complete(true);
                        }
                    }
                }
            }
        } catch (IOException e) {
            // the process was killed within a line
        }
        begun.complete(false);
    }
}
