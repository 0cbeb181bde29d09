package io.hvd.doctor;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.doctor.checks.Area;
import io.hvd.launch.mpi.Starter;
import io.hvd.launch.words.UsageException;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class DoctorOptionsTest {

    private static DoctorSettings parse(String... args) {
        return DoctorOptions.parse(Starter.EITHER, args);
    }

    @Test
    void ranksFillTheSlotsOfOneHostAfterTheOther() {
        assertThat(parse("-H", "a:2,b:3").ranksPerHost(9)).containsExactly(2, 3);
        assertThat(parse("-H", "a:2,b:3", "-np", "3").ranksPerHost(9)).containsExactly(2, 1);
        assertThat(parse().ranksPerHost(9)).containsExactly(9);
        assertThat(parse("-np", "4").ranksPerHost(9)).containsExactly(4);
    }

    @Test
    void aHostfileIsThatOfHorovodrun(@TempDir Path folder) throws Exception {
        Path file = Files.writeString(folder.resolve("hosts"), "# mine\na slots=2\nb slots=1\n");

        assertThat(parse("--hostfile", file.toString()).hosts()).hasSize(2);
    }

    @Test
    void sizesAreThoseOfTheJvm() {
        assertThat(parse("--heap", "512m").heapBytes()).hasValue(512L << 20);
        assertThat(parse("--heap", "4G").heapBytes()).hasValue(4L << 30);
        assertThat(parse("--heap", "4096").heapBytes()).hasValue(4096);
        assertThat(parse().heapBytes()).isEmpty();
        assertThat(parse("--native", "2t").nativeBytes()).isEqualTo(2L << 40);
    }

    @Test
    void onlySomeAreas() {
        assertThat(parse("--only", "mpi,shm").areas())
                .containsExactlyInAnyOrder(Area.HOSTS, Area.SELF_TEST, Area.MPI, Area.SHM);
        assertThat(parse("--only", "mpi").measures()).isFalse();
        assertThat(parse("--only", "clock").measures()).isTrue();
    }

    @Test
    void whatStartsTheRanksIsLookedAtAlone() {
        assertThat(parse().areas()).contains(Area.MPI, Area.HOSTS).doesNotContain(Area.START);
        for (DoctorSettings without : List.of(parse("--gloo"), DoctorOptions.parse(Starter.HOROVODRUN))) {
            assertThat(without.gloo()).isTrue();
            assertThat(without.areas()).contains(Area.START, Area.HOSTS).doesNotContain(Area.MPI);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--only=disk | unknown-area | expected hosts, mpi, start, java",
                "--heap=much | size-format | as in 512m or 4g",
                "-H=a | host-format | node1:4",
                "-np=0 | out-of-range | 1 to",
                "-p=99999 | out-of-range | 65535",
                "--network-interfaces=a;b | interface-format | eth0,eth1",
                "--hots=a:1 | flags | --help",
                "train.jar | unknown-word | takes no command",
            })
    void whatCannotBeUnderstoodSaysWhatIsExpected(String word, String id, String expected) {
        String[] args = word.startsWith("-") ? word.split("=", 2) : new String[] {word};

        assertThatThrownBy(() -> parse(args)).isInstanceOf(UsageException.class).hasMessageContainingAll(id, expected);
    }

    @Test
    void moreRanksThanSlotsAndTwoListsAreRefused() {
        assertThatThrownBy(() -> parse("-H", "a:1", "-np", "2")).hasMessageContaining("1 slots");
        assertThatThrownBy(() -> parse("-H", "a:1", "--hostfile", "f")).hasMessageContaining("hosts-twice");
    }

    @Test
    void badUsageEndsWithTwoAndHelpWithNought() throws Exception {
        var err = new ByteArrayOutputStream();
        var out = new ByteArrayOutputStream();
        var doctor = new HvdDoctor(
                Map.of(),
                Path.of("/"),
                new PrintStream(out, false, StandardCharsets.UTF_8),
                new PrintStream(err, false, StandardCharsets.UTF_8));

        assertThat(doctor.run("--only", "disk")).isEqualTo(2);
        assertThat(err.toString(StandardCharsets.UTF_8)).startsWith("hvd-doctor: --only disk");
        assertThat(doctor.run("--help")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("-H, --hosts a:2,b:2", "self-test");
    }

    @Test
    void thePageHasEveryFlagOfTheHelp() throws Exception {
        String page = Files.readString(Path.of("..", "docs", "reference", "doctor.md"));

        assertThat(Pattern.compile("--[a-z][a-z-]+")
                        .matcher(DoctorOptions.help())
                        .results())
                .isNotEmpty()
                .allSatisfy(flag -> assertThat(page).contains("`" + flag.group()));
    }
}
