package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.ElasticProgram;
import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Elastic jobs of real processes, of which random ones are killed, stopped for a while and ended by SIGTERM at random times, during
 * their start, a step, a regroup and the state's transfer. Whatever happens, a job with enough ranks left ends well, every
 * sample was drawn once in each epoch and all ranks end with the same state; any other job ends with a sentence.
 */
final class ElasticFaultsIT {

    private static final int SCHEDULES = Integer.getInteger("hvd.elastic.schedules", 40);
    private static final long SEED = Long.getLong("hvd.elastic.seed", 1);
    private static final long LIMIT_SECONDS = 120;
    private static final long LATEST_MILLIS = 6_000;
    private static final long STOP_MILLIS = 2_500;
    private static final int EPOCHS = 12;
    private static final Pattern WORKER = Pattern.compile("worker (\\d+) pid (\\d+) ");

    @TempDir
    private Path folder;

    private int kills;
    private int stops;
    private int terms;
    private int regroups;
    private int tooFew;

    @Test
    @Tag("long")
    void whateverHappensNothingIsLostAndNothingHangs() throws Exception {
        for (int number = 0; number < SCHEDULES; number++) {
            run(SEED + number);
        }

        System.out.println(SCHEDULES + " schedules of real processes: " + kills + " kills, " + stops + " stops, "
                + terms + " SIGTERM, " + regroups + " further generations, " + tooFew
                + " jobs with too few ranks left");
        assertThat(kills).isPositive();
    }

    private void run(long seed) throws Exception {
        Random random = new Random(seed);
        int ranks = 2 + random.nextInt(3);
        boolean again = random.nextInt(4) == 0;
        Path output = Files.createTempFile(folder, "job", ".log");
        Process launcher = new ProcessBuilder(command(ranks, again))
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            int lost = disturb(random, ranks, launcher, output);
            String text = ended(launcher, output);
            judge("seed " + seed + "\n" + text, text, launcher.exitValue(), lost >= ranks && !again);
            assertThat(launcher.descendants()).as("seed " + seed).isEmpty();
        } finally {
            launcher.descendants().forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
    }

    private static List<String> command(int ranks, boolean again) {
        List<String> words =
                new ArrayList<>(List.of("-np", String.valueOf(ranks), "--min-np", "1", "--elastic-timeout", "20"));
        if (again) {
            words.addAll(List.of("--blacklist-cooldown-range", "1", "2"));
        }
        words.addAll(Job.program(ElasticProgram.class, String.valueOf(EPOCHS), "10"));
        return Job.program(Horovodrun.class, words.toArray(String[]::new));
    }

    /** @return how many processes were ended */
    private int disturb(Random random, int ranks, Process launcher, Path output) throws Exception {
        int faults = 1 + random.nextInt(3);
        int lost = 0;
        for (int fault = 0; fault < faults; fault++) {
            TimeUnit.MILLISECONDS.sleep(random.nextLong(LATEST_MILLIS / faults));
            int kind = random.nextInt(5);
            int victim = random.nextInt(ranks);
            Optional<ProcessHandle> process = process(output, victim);
            if (process.isEmpty() || !launcher.isAlive()) {
                continue;
            }
            long pid = process.get().pid();
            if (kind == 0) {
                signal("STOP", pid);
                TimeUnit.MILLISECONDS.sleep(random.nextLong(STOP_MILLIS));
                signal("CONT", pid);
                stops++;
            } else if (kind == 1) {
                signal("TERM", pid);
                terms++;
                lost++;
            } else {
                process.get().destroyForcibly();
                kills++;
                lost++;
            }
        }
        return lost;
    }

    private static Optional<ProcessHandle> process(Path output, int worker) throws IOException {
        Matcher workers = WORKER.matcher(Files.readString(output));
        while (workers.find()) {
            if (Integer.parseInt(workers.group(1)) == worker) {
                return ProcessHandle.of(Long.parseLong(workers.group(2)));
            }
        }
        return Optional.empty();
    }

    private static void signal(String name, long pid) throws Exception {
        new ProcessBuilder("sh", "-c", "kill -s " + name + " " + pid).start().waitFor();
    }

    private static String ended(Process launcher, Path output) throws Exception {
        boolean ended = launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
        String text = Files.readString(output);
        assertThat(ended).as("hangs:\n" + text).isTrue();
        return text;
    }

    private void judge(String scene, String text, int exitCode, boolean maybeTooFew) {
        List<String> ends =
                text.lines().filter(line -> line.contains("ended drawn ")).toList();
        regroups += (int)
                text.lines().filter(line -> line.contains(" begins with ")).count();
        if (exitCode == 0) {
            assertThat(ends).as(scene).isNotEmpty();
            assertThat(ends.stream().distinct()).as(scene).hasSize(1);
            assertThat(ends.get(0)).as(scene).contains("ended drawn " + EPOCHS * 240 + " each true");
        } else {
            assertThat(maybeTooFew).as(scene).isTrue();
            assertThat(text)
                    .as(scene)
                    .containsPattern("the elastic job has failed: |no rank is left|was ended by signal");
            tooFew++;
        }
    }
}
