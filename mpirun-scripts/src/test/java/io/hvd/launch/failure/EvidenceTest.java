package io.hvd.launch.failure;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.error.FailureRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the launcher finds out about processes that end without a word. */
final class EvidenceTest {

    private static final String SEGFAULT = """
            #
            # A fatal error has been detected by the Java Runtime Environment:
            #
            #  SIGSEGV (0xb) at pc=0x00007f64adad2f94, pid=10188, tid=10191
            #
            # JRE version: OpenJDK Runtime Environment (17.0.15+6) (build 17.0.15+6)
            # Problematic frame:
            # C  [libtorch_cpu.so+0x2eb0a58]  at::native::add+0x124
            #
            # Core dump will be written. Default location: core
            #
            ---------------  T H R E A D  ---------------

            Current thread (0x00007f64a4027000):  JavaThread "main" [_thread_in_native, id=10191, stack(0x1,0x2)]

            Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)
            C  [libtorch_cpu.so+0x2eb0a58]  at::native::add+0x124

            Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)
            J 279  org.bytedeco.pytorch.Tensor.add(Lorg/bytedeco/pytorch/Tensor;)V (0 bytes) @ 0x00007f6498ede074
            j  org.bytedeco.pytorch.Tensor.add_(I)V+24
            j  java.util.ArrayList.forEach(I)V+24 java.base@17.0.15
            j  com.example.Train.step()V+5
            j  com.example.Train.main([Ljava/lang/String;)V+12
            v  ~StubRoutines::call_stub

            ---------------  P R O C E S S  ---------------
            """;

    private static final String NO_MEMORY = """
            #
            # There is insufficient memory for the Java Runtime Environment to continue.
            # Native memory allocation (mmap) failed to map 12884901888 bytes for committing reserved memory.
            # Possible reasons:
            """;

    @TempDir
    private Path folder;

    private final Instant start = Instant.parse("2026-01-02T12:00:00Z");

    private Path crash(String name, String text, Instant time) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        return Files.setLastModifiedTime(file, FileTime.from(time));
    }

    private List<String> find(String said, String... words) {
        return CrashFile.find(new CrashFile.Places(folder, List.of(words), start), said);
    }

    @Test
    void aCrashOfTheJvmIsShownWithItsFileItsReasonAndTheProgramsFrames() throws IOException {
        Path file = crash("hs_err_pid10188.log", SEGFAULT, start.plusSeconds(5));
        assertThat(find("rank 1 on vm, pid 10188, was ended by signal 6"))
                .containsExactly(
                        "the JVM has crashed and left " + file,
                        "  SIGSEGV (0xb) at pc=0x00007f64adad2f94, pid=10188, tid=10191",
                        "  in C  [libtorch_cpu.so+0x2eb0a58]  at::native::add+0x124",
                        "  Current thread:  JavaThread \"main\"",
                        "    J 279  org.bytedeco.pytorch.Tensor.add(Lorg/bytedeco/pytorch/Tensor;)V (0 bytes) @ 0x00007f6498ede074",
                        "    j  org.bytedeco.pytorch.Tensor.add_(I)V+24",
                        "    j  com.example.Train.step()V+5",
                        "    j  com.example.Train.main([Ljava/lang/String;)V+12");
    }

    @Test
    void aJvmThatGetsNoMemoryFromTheSystemSaysSo() throws IOException {
        crash("hs_err_pid7.log", NO_MEMORY, start.plusSeconds(1));
        assertThat(find(""))
                .anyMatch(line -> line.contains("insufficient memory"))
                .anyMatch(line -> line.contains("12884901888 bytes"));
    }

    @Test
    void theProcessThatMpirunNamesComesBeforeOthersAndOldFilesDoNotCount() throws IOException {
        crash("hs_err_pid1.log", SEGFAULT, start.minusSeconds(100));
        assertThat(find("pid 1,")).isEmpty();
        crash("hs_err_pid2.log", SEGFAULT, start.plusSeconds(1));
        crash("hs_err_pid3.log", SEGFAULT, start.plusSeconds(2));
        assertThat(find("").get(0)).endsWith("hs_err_pid2.log");
        assertThat(find("rank 0 on vm, pid 3, was ended").get(0)).endsWith("hs_err_pid3.log");
    }

    @Test
    void aFlagThatNamesTheFileIsFollowed() throws IOException {
        crash("logs/crash-44%.txt", SEGFAULT, start.plusSeconds(1));
        assertThat(find("", "java", "-XX:ErrorFile=logs/crash-%p%%.txt", "Main").get(0))
                .endsWith("crash-44%.txt");
        assertThat(find("", "-XX:ErrorFile=absent/%p.txt")).isEmpty();
    }

    @Test
    void theKernelsCountersTellWhoHasKilled() throws IOException {
        crash("proc/self/cgroup", "0::/job/7\n", start);
        crash("proc/vmstat", "nr_free_pages 12\noom_kill 3\n", start);
        crash("sys/fs/cgroup/job/7/memory.events", "low 0\noom 1\noom_kill 1\n", start);
        MemoryKills before = MemoryKills.now(folder);
        assertThat(before).isEqualTo(new MemoryKills(OptionalLong.of(1), OptionalLong.of(3)));
        assertThat(MemoryKills.now(folder).since(before)).contains("by someone", "killed nothing for want of memory");

        crash("proc/vmstat", "nr_free_pages 12\noom_kill 5\n", start);
        assertThat(MemoryKills.now(folder).since(before))
                .contains("by the kernel", "killed 2 process(es) of this machine");
        crash("sys/fs/cgroup/job/7/memory.events", "oom_kill 2\n", start);
        assertThat(MemoryKills.now(folder).since(before)).contains("killed 1 process(es) of this job's control group");
    }

    @Test
    void theFirstVersionOfControlGroupsAndAContainersOwnMountAreRead() throws IOException {
        crash("proc/self/cgroup", "12:cpu,cpuacct:/\n9:memory:/docker/0ab\n0::/\n", start);
        crash("sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", start);
        assertThat(MemoryKills.now(folder)).isEqualTo(new MemoryKills(OptionalLong.of(4), OptionalLong.empty()));
        assertThat(MemoryKills.now(folder.resolve("absent")).since(MemoryKills.now(folder)))
                .isEmpty();
    }

    @Test
    void theScreenOfABareExitCodeHasTheLastLines() {
        var evidence = new Evidence(List.of("ValueError: empty"), "rank 1", List.of(), "");
        var seen = new ObservedFailure(1, "", 1, "rank 1 ended with exit code 1");
        assertThat(new JobFailureReport(List.of(), Optional.of(seen), 1, evidence).text())
                .isEqualTo("""

                        horovodrun: first failure: rank 1 ended with exit code 1
                          the last lines on the standard error of rank 1:
                            ValueError: empty
                        horovodrun: exit code 1
                        """);
        assertThat(new JobFailureReport(List.of(), Optional.empty(), 1, evidence).text())
                .contains("horovodrun: no rank left a record", "    ValueError: empty")
                .endsWith("horovodrun: exit code 1\n");
    }

    @Test
    void aRecordSaysMoreThanTheLastLines() {
        var evidence = new Evidence(List.of("noise"), "all ranks together", List.of(), "by the kernel");
        var record = new FailureRecord(start, 0, "a", 1, "main", "bad", "\tat A.b", false, 1);
        assertThat(new JobFailureReport(List.of(record), Optional.empty(), 1, evidence).text())
                .doesNotContain("noise");
    }
}
