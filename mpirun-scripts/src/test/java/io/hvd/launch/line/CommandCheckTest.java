package io.hvd.launch.line;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.launch.options.LaunchOptions;
import io.hvd.launch.options.LaunchSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Commands in a folder with a program, a jar and a plain file, under a PATH with java and python3. */
final class CommandCheckTest {

    @TempDir
    private Path folder;

    private Path here;

    @BeforeEach
    void makeTheFiles() throws IOException {
        program(folder.resolve("bin/java"));
        program(folder.resolve("bin/python3"));
        here = Files.createDirectories(folder.resolve("here"));
        program(here.resolve("train"));
        Files.writeString(here.resolve("train.jar"), "");
        Files.writeString(here.resolve("train.sh"), "");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "java -jar train.jar",
                "java -Xmx1g -cp x.jar -jar train.jar -jar other.jar",
                "java --add-opens -jar -jar train.jar",
                "java -cp gone.jar Main -jar gone.jar",
                "java @options -jar gone.jar",
                "java -jar",
                "python3 gone.py",
                "train",
                "./train",
                "../bin/java -version"
            })
    void whatIsThereIsStarted(String command) {
        assertThat(check(command).obstacle()).isEmpty();
    }

    @Test
    void aMistypedProgramIsSaidWithTheOneThatWasMeant() {
        assertThat(obstacle("pythn3 x.py"))
                .isEqualTo("there is no program pythn3 on PATH; did you mean python3? [no-such-program]");
        assertThat(obstacle("jva -jar train.jar")).isEqualTo("there is no program jva on PATH [no-such-program]");
    }

    @Test
    void aMistypedFileIsSaidWithItsFullPath() {
        assertThat(obstacle("./trian")).startsWith("there is no program " + here + "/./trian; did you mean ./train");
        assertThat(obstacle("gone/a.out")).contains(here + "/gone/a.out [no-such-program]");
    }

    @Test
    void aMistypedJarIsSaidAndAnotherOfItsFolderOffered() {
        assertThat(obstacle("java -Xmx1g -jar tarin.jar x"))
                .isEqualTo("java -jar tarin.jar: there is no file " + here
                        + "/tarin.jar; did you mean train.jar? [no-such-jar]");
        assertThat(obstacle(folder + "/bin/java -cp a -jar b/gone.jar")).contains("-jar b/gone.jar");
    }

    @Test
    void aFileThatIsNotExecutableSaysHowToStartIt() {
        assertThat(obstacle("./train.sh")).contains("not-executable", "chmod +x ./train.sh", "sh ./train.sh");
        assertThat(obstacle("train.sh")).contains("not-executable", "chmod +x train.sh");
        assertThat(obstacle("train.jar -np 2")).contains("a jar is started by java -jar train.jar");
    }

    @Test
    void aFolderIsNoProgram() {
        assertThat(obstacle("../here")).contains("../here is a folder");
    }

    @Test
    void withoutAPathOrInAnotherFolderNobodyKnows() {
        assertThat(new CommandCheck(List.of("jva"), Map.of(), here).obstacle()).isEmpty();
        LaunchSettings elsewhere =
                LaunchOptions.parse(Map.of(), "-np", "1", "--mpi-args", "--wdir /elsewhere", "./gone");

        assertThat(CommandCheck.of(elsewhere, Map.of(), here).obstacle()).isEmpty();
    }

    private CommandCheck check(String command) {
        return new CommandCheck(List.of(command.split(" ")), Map.of("PATH", "/nowhere:" + folder + "/bin"), here);
    }

    private String obstacle(String command) {
        return check(command).obstacle().orElseThrow().getMessage();
    }

    private static void program(Path file) throws IOException {
        Files.createDirectories(file.getParent());
        assertThat(Files.writeString(file, "#!/bin/sh\n").toFile().setExecutable(true))
                .isTrue();
    }
}
