package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import io.hvd.testing.NamespaceHosts;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What collectives send between hosts, as their network interfaces count it, headers and all. */
@Tag("long")
@Timeout(180)
final class BytesOnTheWireIT {
    private static final int FLOATS = 15 << 20;
    private static final Pattern SAID = Pattern.compile("wrong (\\S+) sent (\\d+) bytes");

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

    /**
     * With two ranks a host sends as much as with one: each of them crosses over with half of the elements. With unlike
     * numbers of ranks the first of each host crosses over with all.
     *
     * @param ranks those of each host
     */
    @ParameterizedTest(name = "{0}, {1}")
    @CsvSource({"1 1 1,auto", "1 1 1,ring", "2 2 2,auto", "3 1 2,auto"})
    void aHostSendsHardlyMoreThanTheLeastThereIs(String ranks, String algorithm) {
        List<MatchResult> said = run("allreduce", ranks, algorithm);
        assertThat(said).hasSize(sum(ranks)).allSatisfy(rank -> {
            assertThat(wrong(rank)).isZero();
            assertThat(sent(rank)).isBetween(0.95 * 4 / 3, 1.05 * 4 / 3);
        });
    }

    /** In two levels what a host has goes once to every other host, and what others need to have of its sums. */
    @ParameterizedTest(name = "{0}")
    @ValueSource(strings = {"allgather", "reducescatter"})
    void whatAHostHasCrossesOnceForEachOtherHost(String operation) {
        assertThat(run(operation, "2 2 2", "auto")).hasSize(6).allSatisfy(rank -> {
            assertThat(wrong(rank)).isZero();
            assertThat(sent(rank)).isBetween(0.95 * 2 / 3, 1.05 * 2 / 3);
        });
    }

    /** The last host in the chain sends nothing. */
    @Test
    void aBroadcastLeavesNoHostTwice() {
        List<MatchResult> said = run("broadcast", "2 2 2", "auto");
        assertThat(said).hasSize(6).allSatisfy(rank -> assertThat(wrong(rank)).isZero());
        assertThat(said)
                .filteredOn(rank -> sent(rank) > 0.1)
                .hasSize(4)
                .allSatisfy(rank -> assertThat(sent(rank)).isBetween(0.95, 1.05));
    }

    private static List<MatchResult> run(String operation, String ranks, String algorithm) {
        Job job = Job.run(
                words(operation, ranks),
                Map.of(
                        "HVD_ALLREDUCE_ALGORITHM",
                        algorithm,
                        "XDG_CACHE_HOME",
                        folder.resolve("cache").toString()));
        assertThat(job.exitCode()).as(job.output()).isZero();
        return SAID.matcher(job.output()).results().toList();
    }

    /** Elements. */
    private static int wrong(MatchResult rank) {
        return Integer.parseInt(rank.group(1));
    }

    /** By its host, as a part of all elements. */
    private static double sent(MatchResult rank) {
        return Double.parseDouble(rank.group(2)) / (FLOATS * Float.BYTES);
    }

    private static int sum(String ranks) {
        return Stream.of(ranks.split(" ")).mapToInt(Integer::parseInt).sum();
    }

    private static List<String> words(String operation, String ranks) {
        String[] each = ranks.split(" ");
        List<String> words = new ArrayList<>(Job.program(
                Horovodrun.class, "-p", NamespaceHosts.PORT, "-i", hosts.key(), "-np", String.valueOf(sum(ranks))));
        words.addAll(List.of("-H", "node-a:" + each[0] + ",node-b:" + each[1] + ",node-c:" + each[2]));
        words.addAll(Job.program(BytesProgram.class, operation, FLOATS + ""));
        return hosts.on("node-a", words);
    }
}
