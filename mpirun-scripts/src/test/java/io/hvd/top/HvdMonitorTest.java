package io.hvd.top;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** With a made-up nvidia-smi, and pages in a folder that looks as /proc does; {@link HvdMonitorIT} watches a real job. */
final class HvdMonitorTest {
    private static final String FIRST = "2026/11/24 19:36:45.100,0,16160,3678,12482,97,41";
    private static final String SECOND = "2026/11/24 19:36:45.101,1,16160,1833,14327,[N/A],12";
    private static final String THIRD = "2026/11/24 19:36:45.600,0,16160,3700,12460,99,44";

    @TempDir
    private Path folder;

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();
    private Path nvidiaSmi;
    private Path csv;
    private Path plot;

    @BeforeEach
    void nameTheFiles() {
        nvidiaSmi = folder.resolve("nvidia-smi");
        csv = folder.resolve("X.csv");
        plot = folder.resolve("X.html");
    }

    /** A made-up nvidia-smi: it has two GPUs, and prints some lines for the query that hvd-monitor is to make. */
    private void makeUpNvidiaSmi(String lines) throws IOException {
        Files.writeString(nvidiaSmi, String.format(Locale.ROOT, """
                #!/bin/sh
                # A made-up nvidia-smi with two GPUs.
                if [ "$*" = -L ]; then echo 'GPU 0: made up (UUID: 0)'; echo 'GPU 1: made up (UUID: 1)'; exit 0; fi
                wanted='--format=csv,noheader,nounits --query-gpu=%s -lms 250 -i 0,1'
                [ "$*" = "$wanted" ] || { echo "made-up nvidia-smi: $*"; exit 1; }
                cat <<'EOF'
                %s
                EOF
                """, Reading.GPU_COLUMNS, lines));
        assertThat(nvidiaSmi.toFile().setExecutable(true)).isTrue();
    }

    private int run(String... args) throws InterruptedException {
        return new HvdMonitor(
                        folder,
                        nvidiaSmi.toString(),
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8))
                .run(args);
    }

    @Test
    void theSevenColumnsOfEachGpuGoIntoTheCsvAndThePlot() throws Exception {
        makeUpNvidiaSmi(String.join("\n", FIRST, SECOND.replace(",", ", "), THIRD));

        assertThat(run("--interval-ms", "250", "--gpus", "0,1", "--csv", csv.toString(), "--plot", plot.toString()))
                .as(err.toString(StandardCharsets.UTF_8))
                .isZero();

        assertThat(Files.readAllLines(csv)).containsExactly(Reading.GPU_COLUMNS, FIRST, SECOND, THIRD);
        assertThat(out.toString(StandardCharsets.UTF_8))
                .contains("GPU 0: 2 readings, load 98 % in the mean, memory 3700 MiB at most")
                .contains("GPU 1: 1 readings, load 0 % in the mean, memory 1833 MiB at most");
        String page = Files.readString(plot);
        assertThat(page.split("<polyline", -1)).as("two GPUs in two drawings").hasSize(5);
        assertThat(page).contains("<title>GPU 1</title>", "Memory in MiB", ">4000</text>", ">100</text>");
        assertThat(page).doesNotContain("http", "<script");
    }

    @Test
    void withoutAFileTheLinesArePrintedAndTheSummaryIsNotAmongThem() throws Exception {
        makeUpNvidiaSmi(FIRST);

        assertThat(run("--interval-ms", "250", "--gpus", "0,1", "--noheader")).isZero();

        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo(FIRST + "\n");
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith("GPU 0: 1 readings");
    }

    @Test
    void whatNvidiaSmiSaysInsteadIsTold() throws Exception {
        makeUpNvidiaSmi(FIRST);

        assertThat(run("--interval-ms", "300", "--gpus", "0,1")).isEqualTo(1);

        assertThat(err.toString(StandardCharsets.UTF_8))
                .contains("nvidia-smi says \"made-up nvidia-smi: --format=csv,noheader,nounits", "-lms 300 -i 0,1\"");
    }

    /** Two ranks are threads of one process; the third has ended before the second look. */
    @Test
    void theRanksOfAJobHaveTheLoadAndTheMemoryOfTheirProcesses() throws Exception {
        Files.writeString(folder.resolve("meminfo"), "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 2097152 kB\n");
        process(41, 100, 0, 1);
        process(42, 100, 2);
        RankReadings ranks = new RankReadings(new OpenPages(folder), folder, "");
        LocalDateTime time = LocalDateTime.of(2026, 11, 24, 19, 36);

        assertThat(ranks.look(time)).as("a load needs two looks").isEmpty();
        process(41, 200, 0, 1);
        Files.delete(folder.resolve("42/stat"));
        List<Reading> readings = ranks.look(time);

        assertThat(ranks.seesRanks()).isTrue();
        assertThat(readings).extracting(Reading::index).containsExactly(0, 1);
        assertThat(readings).allSatisfy(one -> {
            assertThat(one.load()).as("100 ticks in less than a minute").isPositive();
            assertThat(one.csv()).matches("2026/11/24 19:36:00\\.000,[01],8192,512,2048,\\d+,6");
        });
        Files.delete(folder.resolve("41/stat"));
        assertThat(ranks.look(time)).isEmpty();
        assertThat(ranks.seesRanks()).isFalse();
        assertThat(ranks.choice()).isEmpty();
    }

    @Test
    void ofTwoJobsTheFirstIsWatchedAndTheOtherOneNamed() throws Exception {
        Files.writeString(folder.resolve("meminfo"), "MemTotal: 8388608 kB\nMemAvailable: 2097152 kB\n");
        process(41, 100, 0);
        process(42, 100, 1);
        Path page = folder.resolve("hvd-status-42-1.shm (deleted)");
        writePage(page, page(1).replace("h:7", "h:8"));
        RankReadings ranks = new RankReadings(new OpenPages(folder), folder, "");

        ranks.look(LocalDateTime.now(ZoneId.systemDefault()));

        assertThat(ranks.choice()).isEqualTo("watches job h:7, and leaves out [h:8], which --job names");
        assertThat(ranks.look(LocalDateTime.now(ZoneId.systemDefault())))
                .extracting(Reading::index)
                .containsExactly(0);
    }

    @Test
    void whereNothingIsSeenTheReasonIsTold() throws Exception {
        Files.writeString(folder.resolve("meminfo"), "MemTotal: 8388608 kB\nMemAvailable: 2097152 kB\n");

        assertThat(run("--seconds", "1", "--interval-ms", "100", "--job", "h:9"))
                .isEqualTo(1);

        assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo(Reading.RANK_COLUMNS + "\n");
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("no rank was seen of job h:9, which --job names");
    }

    @Test
    void aCsvOfNvidiaSmiIsPlottedToo() throws Exception {
        Files.write(csv, List.of("timestamp, index, ...", FIRST, THIRD));
        assertThat(run("--read", csv.toString(), "--plot", plot.toString())).isZero();
        assertThat(Files.readString(plot)).contains("Load and memory of each GPU", "<polyline");

        Files.write(csv, List.of("\ufeff" + Reading.RANK_COLUMNS + "\r", FIRST + "\r"));
        assertThat(run("--read", csv.toString(), "--plot", plot.toString())).isZero();
        assertThat(Files.readString(plot)).contains("Load and memory of each rank");

        Files.write(csv, List.of("nothing"));
        assertThat(run("--read", csv.toString(), "--plot", plot.toString())).isEqualTo(1);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("none of the 1 lines of " + csv + " has the columns");
    }

    @ParameterizedTest
    @CsvSource({
        "--interval-ms 99,'--interval-ms is \"99\", expected a whole number of at least 100'",
        "--read X.csv,--read makes a plot and needs --plot FILE",
        "--gpus all,'--gpus is \"all\", expected numbers with commas between them'",
        "more,more is not a flag of hvd-monitor"
    })
    void aMistakeOnTheCommandLineIsNamed(String line, String words) throws Exception {
        assertThat(run(line.split(" "))).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).contains("hvd-monitor: " + words, "--help lists the flags");
    }

    @Test
    void theHelpIsNoError() throws Exception {
        assertThat(run("--help")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("--interval-ms", "--csv", "--plot");
    }

    /** A process of 512 MiB with these ranks. */
    private void process(long pid, long ticks, int... ranks) throws IOException {
        Path process = Files.createDirectories(folder.resolve(String.valueOf(pid)));
        Files.writeString(
                process.resolve("stat"), pid + " (java) R 1 1 1 0 -1 0 0 0 0 0 " + ticks + " 0 0 0 20 0 1 0 1\n");
        Files.writeString(process.resolve("status"), "Name:\tjava\nVmRSS:\t524288 kB\n");
        Path open = Files.createDirectories(process.resolve("fd"));
        for (int rank : ranks) {
            Path file = folder.resolve("hvd-status-" + pid + "-" + rank + ".shm (deleted)");
            writePage(file, page(rank));
            Path link = open.resolve(String.valueOf(10 + rank));
            if (!Files.exists(link)) {
                Files.createSymbolicLink(link, file);
            }
        }
    }

    private static String page(int rank) {
        return String.format(
                        Locale.ROOT,
                        "{'job':'h:7','program':'Train','rank':%d,'size':3,'host':'h','local':'0-2','nanos':1}",
                        rank)
                .replace('\'', '"');
    }

    private static void writePage(Path file, String json) throws IOException {
        CRC32 sum = new CRC32();
        sum.update(json.getBytes(StandardCharsets.UTF_8));
        Files.writeString(
                file, String.format(Locale.ROOT, "hvd-status 1 %08x %d%n%s", sum.getValue(), json.length(), json));
    }
}
