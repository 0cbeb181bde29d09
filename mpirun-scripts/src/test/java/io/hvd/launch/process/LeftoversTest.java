package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LeftoversTest {

    @TempDir
    private Path folder;

    private final ProcessHandle self = ProcessHandle.current();

    @Test
    void theSessionOfTheMpirunIsDeletedAndThatOfAnotherIsNot() throws IOException {
        Path ours = session("ompi.here.0/pid." + self.pid());
        Path others = session("ompi.here.0/pid.1");

        leftovers().delete();

        assertThat(ours).doesNotExist();
        assertThat(others).exists();
    }

    @Test
    void aLinkWhereASessionWouldLieLeadsToNothingThatIsDeleted() throws IOException {
        Path victim = session("elsewhere/pid." + self.pid());
        Files.createSymbolicLink(folder.resolve("ompi.evil.0"), folder.resolve("elsewhere"));

        leftovers().delete();

        assertThat(victim.resolve("file")).exists();
    }

    private Leftovers leftovers() {
        return new Leftovers(self, List.of(), Map.of("TMPDIR", folder.toString()));
    }

    private Path session(String name) throws IOException {
        Path session = Files.createDirectories(folder.resolve(name));
        Files.writeString(session.resolve("file"), "x");
        return session;
    }
}
