package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What an allreduce sends between hosts, as their network interfaces count it, headers and all. */
@Tag("long")
@Timeout(180)
final class BytesOnTheWireIT {
    private static final int FLOATS = 16 << 20;
    private static final Pattern SENT = Pattern.compile("sum (\\S+) sent (\\d+) bytes");

    @TempDir
    private static Path folder;

    private static NamespaceHosts hosts;

    @BeforeAll
    static void startTheHosts() {
        hosts = new NamespaceHosts(folder);
        hosts.start("node-a", "node-b", "node-c");
    }

    @AfterAll
    static void stopTheHosts() {
        hosts.stop();
    }

    /** With two ranks a host sends as much as with one: each of them crosses over with half of the elements. */
    @ParameterizedTest(name = "3 hosts x {0}, {1}")
    @CsvSource({"1,auto", "1,ring", "2,auto"})
    void aHostSendsHardlyMoreThanTheLeastThereIs(int ranksPerHost, String algorithm) {
        Job job = Job.run(
                words(ranksPerHost),
                Map.of(
                        "HVD_ALLREDUCE_ALGORITHM",
                        algorithm,
                        "XDG_CACHE_HOME",
                        folder.resolve("cache").toString()));

        assertThat(job.exitCode()).as(job.output()).isZero();
        int ranks = 3 * ranksPerHost;
        double least = 2.0 * 2 / 3 * FLOATS * Float.BYTES;
        var said = SENT.matcher(job.output()).results().toList();
        assertThat(said).as(job.output()).hasSize(ranks).allSatisfy(rank -> {
            assertThat(Float.parseFloat(rank.group(1))).isEqualTo(ranks * (ranks + 1) / 2f);
            assertThat(Double.parseDouble(rank.group(2))).isBetween(0.95 * least, 1.05 * least);
        });
    }

    private static List<String> words(int ranksPerHost) {
        String each = ":" + ranksPerHost;
        List<String> words = new ArrayList<>(Job.program(
                Horovodrun.class, "-p", NamespaceHosts.PORT, "-i", hosts.key(), "-np", 3 * ranksPerHost + ""));
        words.addAll(List.of("-H", "node-a" + each + ",node-b" + each + ",node-c" + each));
        words.addAll(Job.program(BytesProgram.class, FLOATS + ""));
        return hosts.on("node-a", words);
    }
}
