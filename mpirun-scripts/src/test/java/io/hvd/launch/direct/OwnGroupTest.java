package io.hvd.launch.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
        Answer answer = Answer.of(byPerl(ASK));

        assertThat(answer.words()).containsExactly(answer.pid(), answer.pid(), session(), "none");
    }

    @Test
    void argumentsStayAsTheyAre() throws Exception {
        Process process = started(byPerl(List.of("printf", "<%s>", "", "-e", "a b", "$HOME @ARGV", "--")));

        assertThat(output(process)).isEqualTo("<><-e><a b><$HOME @ARGV><-->");
    }

    @Test
    void withoutPerlItIsASessionAndWithoutThatNothing() throws Exception {
        List<String> words = OwnGroup.of(ASK, Map.of("PATH", withPrograms("env", "setsid")), Map.of());

        Answer answer = Answer.of(words);

        assertThat(answer.words()).containsExactly(answer.pid(), answer.pid(), answer.pid(), "none");
        assertThat(OwnGroup.of(ASK, Map.of("PATH", "/nowhere"), Map.of())).isEqualTo(ASK);
    }

    @Test
    void variablesForPerlAreTheRanksAndSoPerlIsNotUsed() throws Exception {
        String path = withPrograms("env", "perl", "setsid");

        assertThat(OwnGroup.of(ASK, Map.of("PATH", path), Map.of("PERL5OPT", "-d"))
                        .get(0))
                .endsWith("/setsid");
    }

    @Test
    void aCommandThatCannotBeStartedEndsAsInAShell() throws Exception {
        Path notExecutable = Files.createFile(folder.resolve("train"));

        Process missing = started(byPerl(List.of("-nowhere")));
        Process refused = started(byPerl(List.of(notExecutable.toString())));

        assertThat(output(missing)).isEqualTo("-nowhere: No such file or directory\n");
        assertThat(missing.waitFor()).isEqualTo(127);
        assertThat(output(refused)).isEqualTo(notExecutable + ": Permission denied\n");
        assertThat(refused.waitFor()).isEqualTo(126);
    }

    private List<String> byPerl(List<String> command) throws IOException {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/perl")), "this machine has no Perl");
        return OwnGroup.of(command, Map.of("PATH", withPrograms("env", "perl", "setsid")), Map.of());
    }

    /** A folder with links to these programs and no others. */
    private String withPrograms(String... names) throws IOException {
        Path programs = Files.createTempDirectory(folder, "programs");
        for (String name : names) {
            Files.createSymbolicLink(programs.resolve(name), Path.of("/usr/bin", name));
        }
        return programs.toString();
    }

    private static String session() throws IOException {
        return Files.readString(Path.of("/proc/self/stat")).split(" ")[5];
    }

    /** In a locale that no machine has, of which Perl would complain. */
    private static Process started(List<String> words) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
        builder.environment().keySet().removeIf(name -> name.startsWith("LANG") || name.startsWith("LC_"));
        builder.environment().put("LC_CTYPE", "xx_YY.UTF-8");
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
