package io.hvd.top;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.hvd.Hvd;
import io.hvd.top.OpenPages.Sighting;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pages as ranks write them, in a folder that looks as /proc does; {@link HvdTopIT} has those of a real job. */
final class HvdTopTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long NOW = 1_000 * SECOND;

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    private static String call(String name, long submittedAgo, long endedAgo) {
        return String.format(
                Locale.ROOT,
                "{'kind':'allreduce','name':'%s','set':0,'members':'','begun':0,'submittedAgo':%d,'endedAgo':%d}",
                name,
                submittedAgo,
                endedAgo);
    }

    private static String json(int rank, long nanos, String pending, String last) {
        return String.format(
                        Locale.ROOT,
                        "{'job':'h:7','program':'Train','rank':%d,'size':3,'host':'h','local':'0-1','nanos':%d,'steps':40,'calls':80,"
                                + "'stepsPerSecond':2.500,'callsPerSecond':5.000,'heapUsed':1048576,'heapMost':4194304,"
                                + "'phase':'','pendingCalls':%d,'pending':[%s]%s}",
                        rank,
                        nanos,
                        pending.isEmpty() ? 0 : 1,
                        pending,
                        last.isEmpty() ? "" : ",'last':" + last)
                .replace('\'', '"');
    }

    private static byte[] page(String json) {
        CRC32 sum = new CRC32();
        sum.update(json.getBytes(StandardCharsets.UTF_8));
        return String.format(Locale.ROOT, "hvd-status 1 %08x %d%n%s", sum.getValue(), json.length(), json)
                .getBytes(StandardCharsets.UTF_8);
    }

    private static Sighting rank(int rank, char state, long pageAgoMillis, String pending, String last) {
        String json = json(rank, NOW - pageAgoMillis * 1_000_000, pending, last);
        return new Sighting(
                RankPage.parse(page(json)).orElseThrow(), new ProcessFacts(100 + rank, state, 0, 2 << 20, NOW));
    }

    private static List<RankActivity> doings(Sighting... ranks) {
        return JobSnapshot.of(List.of(ranks), List.of(), NOW).jobs().get(0).ranks().stream()
                .map(JobSnapshot.Row::doing)
                .toList();
    }

    @Test
    void ranksThatWaitNameTheOneThatComputes() {
        List<JobSnapshot.Row> rows = JobSnapshot.of(
                        List.of(
                                rank(0, 'S', 200, call("w", 4_000, -1), ""),
                                rank(1, 'S', 900, call("w", 3_000, -1), ""),
                                rank(2, 'R', 500, "", call("v", 9_000, 8_000))),
                        List.of(),
                        NOW)
                .jobs()
                .get(0)
                .ranks();

        assertThat(rows.get(0).doing().state()).isEqualTo(RankActivity.State.WAITING);
        assertThat(rows.get(0).doing().text()).isEqualTo("waits for rank 2 in allreduce w for 4.2 s");
        assertThat(rows.get(1).doing().waitingFor()).containsExactly(2);
        assertThat(rows.get(2).doing().text()).isEqualTo("computing");
        assertThat(rows.get(2).waitedForBy()).containsExactly(0, 1);
    }

    /** A page is up to a second old, so an age would be that of the page. */
    @Test
    void aCallThatNobodyWaitsForHasNoAge() {
        List<RankActivity> doings =
                doings(rank(0, 'R', 100, call("w", 200, -1), ""), rank(1, 'R', 100, call("w", 200, -1), ""));

        assertThat(doings).extracting(RankActivity::text).containsOnly("in allreduce w");
    }

    /** Its page is older than the calls of the others, and says that it was about to wait too. */
    @Test
    void aStoppedRankIsSaidToBeStoppedAndTheOthersWaitForIt() {
        List<RankActivity> doings = doings(
                rank(0, 'S', 100, call("w", 8_000, -1), ""),
                rank(1, 'S', 100, call("w", 8_000, -1), ""),
                rank(2, 'T', 9_000, call("v", 1, -1), ""));

        assertThat(doings.get(0).waitingFor()).containsExactly(2);
        assertThat(doings.get(2).state()).isEqualTo(RankActivity.State.STOPPED);
        assertThat(doings.get(2).text()).contains("stopped");
    }

    @Test
    void aRankWithoutAPageIsNotTakenForOneThatComputes() {
        List<RankActivity> doings =
                doings(rank(0, 'S', 100, call("w", 8_000, -1), ""), rank(1, 'S', 100, call("w", 8_000, -1), ""));

        assertThat(doings).allSatisfy(doing -> {
            assertThat(doing.state()).isEqualTo(RankActivity.State.WAITING);
            assertThat(doing.waitingFor()).isEmpty();
            assertThat(doing.text()).startsWith("waits, perhaps for ranks of other hosts, in allreduce w for 8.1 s");
        });
    }

    @Test
    void aRankOfThisHostThatHasNoPageAnyMoreIsNamed() {
        JobSnapshot snapshot = JobSnapshot.of(List.of(rank(0, 'S', 100, call("w", 8_000, -1), "")), List.of(), NOW);

        assertThat(String.join("\n", Screen.lines(snapshot)))
                .contains("3 ranks, 1 of them on this host; gone from this host: rank 1; the others are not shown")
                .contains("waits, perhaps for rank 1, gone from this host, in allreduce w for 8.1 s");
        assertThat(snapshot.json().toString()).contains("\"gone\":[1]");
    }

    /** A rank cuts texts that are too long. */
    @Test
    void whatIsNoNumberIsNoMemberOfAProcessSet() {
        String call = call("w", 5_000, -1).replace("'members':''", "'members':'0-2,7,9...'");

        RankPage page = RankPage.parse(page(json(0, 1, call, ""))).orElseThrow();

        assertThat(page.members(page.pending().get(0))).containsExactly(0, 1, 2, 7);
    }

    /** The pages of two ranks are up to a second apart. */
    @Test
    void aRankThatHasFinishedTheCallMeanwhileIsNotWaitedFor() {
        List<RankActivity> doings = doings(
                rank(0, 'S', 1_000, call("w", 2_000, -1), ""),
                rank(1, 'S', 1_000, call("w", 2_000, -1), ""),
                rank(2, 'S', 0, "", call("w", 500, 400)));

        assertThat(doings.get(0).waitingFor()).isEmpty();
    }

    /** The others were quicker: their next call of the same name came before the late rank's last one had ended. */
    @Test
    void aRankWhoseCallOfTheStepBeforeEndedLastIsWaitedFor() {
        List<RankActivity> doings = doings(
                rank(0, 'S', 900, call("w", 4_100, -1), ""),
                rank(1, 'S', 100, call("w", 4_900, -1), ""),
                rank(2, 'R', 0, "", call("w", 5_100, 4_990)));

        assertThat(doings.get(0).waitingFor()).containsExactly(2);
        assertThat(doings.get(1).waitingFor()).containsExactly(2);
    }

    @Test
    void aRankThatNoLongerWritesIsSilentAndHasNoRate() {
        JobSnapshot snapshot = JobSnapshot.of(List.of(rank(0, 'D', 7_000, "", "")), List.of(), NOW);

        assertThat(snapshot.jobs().get(0).ranks().get(0).doing().state()).isEqualTo(RankActivity.State.SILENT);
        assertThat(String.join("\n", Screen.lines(snapshot)))
                .contains("has said nothing for 7.0 s, last computing")
                .doesNotContain("2.5");
    }

    @Test
    void theScreenHasRatesMemoryAndTheLastCollective() {
        JobSnapshot snapshot = JobSnapshot.of(List.of(rank(1, 'R', 10, "", call("v", 20, 15))), List.of(), NOW);

        assertThat(Screen.lines(snapshot))
                .contains("job h:7  Train  3 ranks, 1 of them on this host; gone from this host: rank 0;"
                        + " the others are not shown")
                .contains("   1      101      2.5      5.0      0      2 MiB     1 of     4 MiB"
                        + "  computing; last allreduce v");
    }

    @Test
    void timeOnTheCpuIsCountedFromTheEarlierLook() {
        ProcessFacts before = new ProcessFacts(1, 'R', 100, 0, NOW - SECOND);

        assertThat(new ProcessFacts(1, 'R', 150, 0, NOW).cpuPercent(Optional.of(before)))
                .isEqualTo(50);
    }

    @Test
    void pagesAreFoundAmongTheOpenFilesAndNoOtherFileIsTakenForOne() throws Exception {
        byte[] good = page(json(0, System.nanoTime(), "", ""));
        process(41, "hvd-status-1.shm (deleted)", good);
        process(42, "hvd-status-2.shm", good); // somebody else's file, with a name
        process(43, "hvd-status-3.shm (deleted)", "hvd-status 1 00000000 2\n{}".getBytes(StandardCharsets.UTF_8));
        process(44, "hvd-status-4.shm (deleted)", Arrays.copyOf(good, good.length - 1));
        process(45, "hvd-status-5.shm (deleted)", page("{\"rank\":\"x\"}"));
        process(46, "hvd-status-6.shm (deleted)", "hvd-status 1 00000000 9999999\n".getBytes(StandardCharsets.UTF_8));

        assertThat(new OpenPages(folder).ranks())
                .extracting(one -> one.process().pid(), one -> one.process().residentBytes())
                .containsExactly(tuple(41L, 300L << 10));
    }

    @Test
    void aProcessThatHasEndedBetweenTheLooksIsLeftOut() throws Exception {
        process(41, "hvd-status-1.shm (deleted)", page(json(0, 1, "", "")));
        Files.delete(folder.resolve("41/stat"));

        assertThat(new OpenPages(folder).ranks()).isEmpty();
    }

    /** It waits for the pages, which the monitors' threads write. */
    @Test
    @Timeout(60)
    void twoJobsOfOneProcessAreShownAsTwo() {
        CountDownLatch seen = new CountDownLatch(1);
        ExecutorService jobs = Executors.newFixedThreadPool(2);
        try {
            for (int job = 0; job < 2; job++) {
                jobs.submit(() -> Hvd.spawn(2, hvd -> {
                    seen.await();
                    return 0;
                }));
            }
            long own = ProcessHandle.current().pid();
            List<Sighting> ranks = List.of();
            while (ranks.size() < 4) {
                ranks = new OpenPages(Path.of("/proc"))
                        .ranks().stream()
                                .filter(one -> one.process().pid() == own)
                                .toList();
            }
            assertThat(JobSnapshot.of(ranks, List.of(), System.nanoTime()).jobs())
                    .hasSize(2)
                    .allSatisfy(job -> {
                        assertThat(job.ranks()).hasSize(2);
                        assertThat(job.name()).startsWith("this JVM:" + own + "#");
                    });
        } finally {
            seen.countDown();
            jobs.shutdown();
        }
    }

    @Test
    void whatATerminalWouldObeyIsNotPrinted() {
        String json = json(0, 1, call("a\\u001b[2Jb", 5_000, -1), "").replace("\"Train\"", "\"T\\u0007\"");

        RankPage page = RankPage.parse(page(json)).orElseThrow();

        assertThat(page.program()).isEqualTo("T?");
        assertThat(page.pending().get(0).name()).isEqualTo("a?[2Jb");
    }

    @Test
    void withoutRanksItSaysSo() throws Exception {
        assertThat(run()).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).startsWith("no process of this user on this host is a rank");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--onze", "more"})
    void aFlagThatDoesNotExistIsAnError(String word) throws Exception {
        assertThat(run(word)).isEqualTo(2);
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("hvd-top: ", word);
    }

    @Test
    void theHelpIsNoError() throws Exception {
        assertThat(run("--help")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("--once", "--json");
    }

    private int run(String... args) throws InterruptedException {
        PrintStream both = new PrintStream(out, true, StandardCharsets.UTF_8);
        return new HvdTop(new OpenPages(folder), false, both, both).run(args);
    }

    private void process(long pid, String file, byte[] content) throws IOException {
        Path process = Files.createDirectories(folder.resolve(String.valueOf(pid)));
        Path open = Files.createDirectories(process.resolve("fd"));
        Files.write(process.resolve(file), content);
        Files.createSymbolicLink(open.resolve("5"), process.resolve(file));
        List<String> fields = new ArrayList<>(List.of("S"));
        for (int i = 1; i < 20; i++) {
            fields.add("7");
        }
        Files.writeString(process.resolve("stat"), pid + " (a (strange) name) " + String.join(" ", fields));
        Files.writeString(process.resolve("status"), "Name:\tjava\nVmHWM:\t  900 kB\nVmRSS:\t  300 kB\n");
    }
}
