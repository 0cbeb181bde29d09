package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class OwnGroupTest {
    /** Prints the process number, the group and the session of the shell, and whether Perl's variable is there. */
    private static final List<String> ASK =
            List.of("sh", "-c", "echo $$ $(cut -d ' ' -f 5,6 /proc/$$/stat) ${PERL_BADLANG-none}");

    @TempDir
    Path folder;

    @Test
    void perlGivesAGroupInTheSameSessionAndKeepsTheProcessNumber() throws Exception {
        List<String> words = OwnGroup.of(ASK, Map.of("PATH", withPrograms("env", "perl", "setsid")));

        Answer answer = Answer.of(words);

        assertThat(answer.words()).containsExactly(answer.pid(), answer.pid(), session(), "none");
    }

    @Test
    void withoutPerlItIsASessionAndWithoutThatNothing() throws Exception {
        List<String> words = OwnGroup.of(ASK, Map.of("PATH", withPrograms("env", "setsid")));

        Answer answer = Answer.of(words);

        assertThat(answer.words()).containsExactly(answer.pid(), answer.pid(), answer.pid(), "none");
        assertThat(OwnGroup.of(ASK, Map.of("PATH", "/nowhere"))).isEqualTo(ASK);
    }

    @Test
    void setpgidComesFirst() throws IOException {
        String path = withPrograms("env", "perl", "setsid");
        Files.createSymbolicLink(folder.resolve("setpgid"), Path.of("/bin/true"));

        assertThat(OwnGroup.of(List.of("train", "-x"), Map.of("PATH", path)))
                .containsExactly(folder.resolve("setpgid").toString(), "train", "-x");
    }

    @Test
    void aCommandThatIsNotThereEndsAsInAShell() throws Exception {
        List<String> words = OwnGroup.of(List.of("/nowhere/train"), Map.of("PATH", withPrograms("env", "perl")));

        Process process = started(words);

        assertThat(output(process)).isEqualTo("/nowhere/train: No such file or directory\n");
        assertThat(process.waitFor()).isEqualTo(127);
    }

    private String withPrograms(String... names) throws IOException {
        for (String name : names) {
            Files.createSymbolicLink(folder.resolve(name), Path.of("/usr/bin", name));
        }
        return folder.toString();
    }

    private static String session() throws IOException {
        return Files.readString(Path.of("/proc/self/stat")).split(" ")[5];
    }

    private static Process started(List<String> words) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(new ArrayList<>(words)).redirectErrorStream(true);
        builder.environment().put("LC_ALL", "xx_YY.UTF-8");
        return builder.start();
    }

    private static String output(Process process) throws IOException {
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    /** What the program has printed, which nothing may have disturbed, and the number of the process started. */
    private record Answer(String pid, List<String> words) {
        static Answer of(List<String> words) throws IOException {
            Process process = started(words);
            String said = output(process).strip();
            return new Answer(Long.toString(process.pid()), List.of(said.split(" ")));
        }
    }
}
