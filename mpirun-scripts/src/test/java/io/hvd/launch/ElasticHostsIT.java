package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.ElasticProgram;
import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** An elastic job on three hosts, one of which loses its cable and gets it back; as {@link NamespaceHostsIT} it needs root. */
@Tag("long")
@Timeout(240)
final class ElasticHostsIT {

    private static final int LIMIT_SECONDS = 90;

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() throws IOException {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b", "node-c");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    @Test
    void aHostThatDisappearsCostsItsRanksAndNoStepAndComesBack() throws Exception {
        Path output = folder.resolve("output");
        Process launcher = new ProcessBuilder(words())
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            await(output, launcher, "generation 0 rank \\d of 6 worker 5 step 0");
            hosts.cut("node-c");
            await(output, launcher, "generation 1 rank \\d of 4 worker 3 step ");
            hosts.mend("node-c");
            await(output, launcher, "generation \\d rank 5 of 6 worker [67] ");

            assertThat(launcher.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS))
                    .as(read(output))
                    .isTrue();
        } finally {
            hosts.mend("node-c");
            launcher.descendants().forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
        String text = read(output);
        assertThat(launcher.exitValue()).as(text).isZero();
        List<String> ends =
                text.lines().filter(line -> line.contains("ended drawn ")).toList();
        assertThat(ends).as(text).hasSize(6);
        assertThat(ends.stream().distinct()).as("bit for bit").hasSize(1);
        assertThat(ends.get(0)).contains(" each true ");
        assertThat(text).contains("rank 5 (worker 5 on node-c) is lost: its host is unreachable");
    }

    private static void await(Path output, Process launcher, String words) throws Exception {
        long begun = System.nanoTime();
        while (!Pattern.compile(words).matcher(read(output)).find()) {
            assertThat(launcher.isAlive())
                    .as("\"" + words + "\" in\n" + read(output))
                    .isTrue();
            assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun))
                    .as("seconds until \"" + words + "\" in\n" + read(output))
                    .isLessThan(LIMIT_SECONDS);
            TimeUnit.MILLISECONDS.sleep(50);
        }
    }

    private static String read(Path file) throws IOException {
        return Files.readString(file);
    }

    private static List<String> words() {
        List<String> job = new ArrayList<>(List.of("-p", NamespaceHosts.PORT, "-i", hosts.key(), "-np", "6"));
        job.addAll(List.of("--min-np", "2", "-H", "node-a:2,node-b:2,node-c:2"));
        job.addAll(Job.program(ElasticProgram.class, "80", "40", "await=6"));
        return hosts.on("node-a", Job.program(Horovodrun.class, job.toArray(String[]::new)));
    }
}
