package io.hvd.examples.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.testing.Job;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Several calls of gpu-check.sh with one record, and the page that is made of records; on a made-up machine. */
class GpuCheckAgainTest {
    private static final int LEFT = 3;

    @TempDir
    Path folder;

    private Path record;
    private MadeUpBundle machine;

    @BeforeEach
    void makeUp() throws IOException {
        machine = new MadeUpBundle(folder);
        record = folder.resolve("record.md");
    }

    private Job call(String... flags) {
        return call(List.of(), flags);
    }

    private Job call(List<String> before, String... flags) {
        List<String> all = new ArrayList<>(List.of(flags));
        all.addAll(List.of("--out", record.toString()));
        return machine.check(before, all.toArray(String[]::new));
    }

    private String written() throws IOException {
        return Files.readString(record);
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void theLimitEndsTheFirstCallInTheMiddleAndTheSecondGoesOnThere() throws IOException {
        machine.hangs("G7");

        Job first = call("--limit", "40s");

        assertThat(first.exitCode()).as(first.output()).isEqualTo(LEFT);
        assertThat(first.seconds()).isLessThan(60);
        assertThat(first.lines("RESULT ").get(0))
                .startsWith("RESULT gpu_check=left passed=3 failed=0 not_run=0 left=6 ");
        assertThat(first.lines("gpu-check: left: G7 G8 G5 G9 G3 G6; to go on: "))
                .singleElement()
                .asString()
                .endsWith("gpu-check.sh " + folder.resolve("bundle") + " --limit 40s --out " + record);
        assertThat(written())
                .startsWith("# GPU record of ")
                .contains(": left\n")
                .contains(
                        "| G7 | times and bandwidths of collectives, allreduce beside C | left | hvd, 1 rank: cut off by --limit")
                .contains("| 8 | 11.00 |")
                .contains("| G5 | a trainer with its own CUDA kernels | left | not begun |");

        Files.delete(folder.resolve("answers/G7.hangs"));
        machine.forgetCalls();
        Job second = call("--limit", "9m");

        assertThat(second.exitCode()).as(second.output()).isZero();
        assertThat(second.lines("RESULT ").get(0))
                .startsWith("RESULT gpu_check=pass passed=9 failed=0 not_run=0 left=0 ");
        assertThat(machine.calls())
                .noneMatch(call -> call.endsWith("gpu-check --only G1") || call.endsWith("gpu-check --only G4"));
        assertThat(machine.calls().get(0)).endsWith("gpu-check --only G7");
        assertThat(written())
                .contains(" ran G1 G4 G2 G7, in ")
                .contains(" ran G7 G8 G5 G9 G3 G6, in ")
                .contains("| pass | 1 rank: rank 0 has device 0; ")
                .doesNotContain("cut off");
        assertThat(occurrences("<!-- check G7 ")).isEqualTo(1);
    }

    private long occurrences(String start) throws IOException {
        return written().lines().filter(line -> line.startsWith(start)).count();
    }

    @Test
    @Tag("long")
    void whatIsDoneIsNotRepeatedAndWhatFailedOnlyIfAsked() throws IOException {
        machine.answer("G4", "CHECK G4 fail 3 elements differ\n");
        assertThat(call("--only", "G1,G4").exitCode()).isEqualTo(1);
        String before = written();
        machine.answer("G4", "CHECK G4 pass bits equal\n");
        machine.forgetCalls();

        assertThat(call("--only", "G1,G4").exitCode()).isEqualTo(1);
        assertThat(folder.resolve("answers/calls")).doesNotExist();
        assertThat(written()).contains(section(before, "G1"), section(before, "G4"));

        assertThat(call("--only", "G1,G4", "--again", "G4").exitCode()).isZero();
        assertThat(machine.calls()).hasSize(1);
        assertThat(written()).contains(section(before, "G1"), "| pass | 1 rank: bits equal |");
    }

    @Test
    @Tag("long")
    void failedStandsForAllThatHaveFailed() throws IOException {
        machine.answer("G4", "CHECK G4 fail 3 elements differ\n");
        call("--only", "G1,G4");
        machine.forgetCalls();

        call("--only", "G1,G4", "--again", "failed");

        assertThat(machine.calls()).singleElement().asString().endsWith(" --only G4");
    }

    private static String section(String record, String check) {
        String end = "<!-- end of " + check + " -->";
        return record.substring(record.indexOf("<!-- check " + check + " "), record.indexOf(end) + end.length());
    }

    @Test
    @Tag("long")
    @Execution(ExecutionMode.CONCURRENT)
    void theRecordIsWholeAfterEachCheckAndAnInterruptedCallSaysWhatIsLeft() throws IOException {
        machine.hangs("G4");

        // A group of its own, since a shell hears a signal only when what it waits for has ended.
        String interrupt = "set -m; \"$@\" & until grep -qs G4 " + folder.resolve("answers/calls")
                + "; do sleep 0.1; done; kill -TERM -- -$!; wait $!";
        Job job = call(List.of("bash", "-c", interrupt, "interrupt"), "--only", "G1,G4,G3");

        assertThat(job.output())
                .contains("gpu-check: interrupted", "left: G4 G3; to go on: ", "RESULT gpu_check=left ");
        assertThat(job.seconds()).isLessThan(60);
        assertThat(written()).contains("| G1 | ranks and their GPUs | pass |", "| left | 1 rank: interrupted |");
        assertThat(Files.list(folder)).noneMatch(file -> file.toString().endsWith(".part"));
    }

    @Test
    void aRecordOfAnotherMachineIsRefusedWithAllThatDiffers() throws IOException {
        call("--only", "G1");
        String before = written();
        machine.answer("versions", "NCCL   2.30.7, /opt/libnccl.so.2\nGPU 0  Other, 0000:01:00.0\n");
        machine.forgetCalls();

        Job job = call("--only", "G1,G4", "--ranks", "3");

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output())
                .contains("is a record of something else")
                .contains("NCCL: \"2.28.3, /opt/libnccl.so.2\" in the record, here \"2.30.7, /opt/libnccl.so.2\"")
                .contains("GPU 0: \"Made Up 9000, 0000:01:00.0\" in the record, here \"Other, 0000:01:00.0\"")
                .contains("ranks: \"2\" in the record, here \"3\"")
                .doesNotContain("RESULT");
        assertThat(written()).isEqualTo(before);
        assertThat(folder.resolve("answers/calls")).doesNotExist();
    }

    @Test
    @Tag("long")
    void aRecordOfAnotherVersionOfHvdIsRefused() throws IOException {
        call("--only", "G1");
        Files.writeString(folder.resolve("bundle/version"), "made-up-2\n");

        assertThat(call("--only", "G1").output()).contains("hvd: \"made-up-1\" in the record, here \"made-up-2\"");
    }

    @Test
    @Tag("long")
    void anotherHostIsRefusedUnlessItIsAllowed() throws IOException {
        call("--only", "G1");
        Files.writeString(record, written().replaceFirst("\\| host \\| [^|]* \\|", "| host | another |"));

        assertThat(call("--only", "G1").output()).contains("host: \"another\" in the record", "--any-host");
        assertThat(call("--only", "G1", "--any-host").exitCode()).isZero();
    }

    @Test
    void whatIsNoRecordIsLeftAlone() throws IOException {
        Files.writeString(record, "my notes\n");

        Job job = call("--only", "G1");

        assertThat(job.exitCode()).isEqualTo(2);
        assertThat(job.output()).contains("is no record of gpu-check.sh");
        assertThat(written()).isEqualTo("my notes\n");
    }

    /** As after a full disk. */
    @Test
    @Tag("long")
    void aSectionWithoutItsEndIsRunAgain() throws IOException {
        call("--only", "G1,G4");
        Files.writeString(record, written().substring(0, written().indexOf("<!-- end of G4 -->")));
        machine.forgetCalls();

        assertThat(call("--only", "G1,G4").exitCode()).isZero();
        assertThat(machine.calls()).singleElement().asString().endsWith(" --only G4");
    }

    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void withoutARecordTheCommandToGoOnNamesTheChecks() throws IOException {
        machine.hangs("G4");

        Job job = machine.check("--only", "G1,G4,G3", "--limit", "20s");

        // On a busy machine G1 may be left, too.
        assertThat(job.lines("gpu-check: left: ").get(0))
                .matches(
                        ".*left: (G1 )?G4 G3; to go on: .*gpu-check.sh .* --only G1,G4,G3 --limit 20s --only (G1,)?G4,G3");
    }

    /** A check that is cut off at once teaches nothing. */
    @Test
    @Execution(ExecutionMode.CONCURRENT)
    @Tag("long")
    void aCheckWithLessThanAThirdOfItsTimeIsNotBegun() throws IOException {
        machine.hangs("G1");

        Job job = call("--only", "G1,G4", "--check-limit", "18s", "--limit", "29s");

        assertThat(job.lines("gpu-check: G4: left, it is not begun with less than 6 s"))
                .hasSize(1);
        assertThat(machine.calls()).singleElement().asString().endsWith("--only G1");
        assertThat(written()).contains("| fail | 1 rank: no end within 18 s; ", "| left | not begun |");
    }

    @Test
    @Tag("long")
    void thePageHasAColumnForEachRecordOfAGpu() throws IOException {
        machine.answer(
                "versions", "NVIDIA driver  580.65\nNCCL           2.30.7, /opt/x.so\nGPU 0          Made Up 9000\n");
        call("--only", "G1,G7,G9");

        Job page = machine.page(record, record);

        assertThat(page.exitCode()).as(page.output()).isZero();
        assertThat(page.output())
                .contains("| check | what | Made Up 9000; driver 580.65; NCCL 2.30.7; hvd made-up-1; 20")
                .contains("| G1 | ranks and their GPUs | pass: 1 rank: rank 0 has device 0; ")
                .contains(" | not yet run | not yet run |")
                .contains("Microseconds of one blocking allreduce on Made Up 9000:\n\n| bytes | hvd, 1 rank | ")
                .contains("\n| 16 | 12.00 | 8.0 |")
                .contains("Microseconds of one allreduce of a LibTorch tensor on Made Up 9000:\n\n"
                        + "| bytes | hvd | LibTorch's NCCL | wrong elements |\n|---|---|---|---|\n"
                        + "| 8 | 11.00 | 12.00 | 0 |\n")
                .endsWith("\n\nRuns with more ranks than GPUs share a GPU. They show whether results are right, and say"
                        + " nothing about speed.\n")
                .doesNotContain("No record of a GPU");
    }

    @Test
    @Tag("long")
    void aRecordThatIsNotOfAGpuDoesNotGetIntoThePage() throws IOException {
        machine.answer("versions", "NVIDIA driver  missing: no /proc\nGPU 0  CPU in place of GPU 0\n");
        call("--only", "G1");

        Job page = machine.page(record);

        assertThat(page.exitCode()).isEqualTo(2);
        assertThat(page.output()).contains("record.md is not a record of a GPU, as it says itself");
    }

    @Test
    void whatIsNoRecordDoesNotGetIntoThePage() throws IOException {
        Files.writeString(record, "my notes\n");

        assertThat(machine.page(record).output()).contains(record + " is no record of gpu-check.sh");
        assertThat(machine.page(folder.resolve("none.md")).output()).contains("there is no file", "none.md");
    }

    /** The shell passes the pattern on as it is while there is no record. */
    @Test
    void aPatternThatMatchesNothingIsNoRecord() {
        Job page = machine.page(folder.resolve("*.md"));

        assertThat(page.exitCode()).as(page.output()).isZero();
        assertThat(page.output()).startsWith("No record of a GPU is there yet: ");
    }

    @Test
    @Tag("long")
    void aRecordWithoutAGpuDoesNotGetIntoThePage() throws IOException {
        machine.answer("versions", "NVIDIA driver  missing: no /proc\nGPU  missing: no driver\n");
        call("--only", "G1");

        assertThat(machine.page(record).output()).contains("is a record of a machine without a GPU");
    }

    /** What docs/records/gpu.md says to have been seen is what the records beside it say. */
    @Test
    void theDocumentedPageIsMadeOfTheRecordsInDocs() throws IOException {
        Path docs = Path.of("..", "docs");
        Path[] records = {};
        if (Files.exists(docs.resolve("records/gpu-records"))) {
            try (var files = Files.list(docs.resolve("records/gpu-records"))) {
                records = files.filter(file -> file.toString().endsWith(".md"))
                        .sorted()
                        .toArray(Path[]::new);
            }
        }

        String page = machine.page(records).output();

        assertThat(Files.readString(docs.resolve("records/gpu.md")))
                .contains("<!-- seen: made by gpu-check.sh --page docs/records/gpu-records/*.md -->\n" + page
                        + "<!-- end of seen -->");
    }
}
