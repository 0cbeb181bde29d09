package io.hvd.command;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Everything that starts none of the programs; {@link JarOfEverythingIT} starts them. */
final class HvdCommandTest {

    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void withoutASubcommandTheUsageIsAnErrorThatNamesAllOfThem() throws Exception {
        assertThat(run()).isEqualTo(2);

        assertThat(text(out)).isEmpty();
        assertThat(text(err))
                .startsWith("hvd-launch: name a subcommand\n")
                .contains("\n  run ", "\n  doctor ", "\n  top ", "\n  report ", "\n  setup ");
    }

    @ParameterizedTest
    @CsvSource({"start, ''", "docter, '; did you mean doctor?'", "-np, ''", "RUN, ''"})
    void anUnknownWordIsNamedWithTheOneThatWasMeant(String word, String meant) throws Exception {
        assertThat(run(word, "x")).isEqualTo(2);

        assertThat(text(out)).isEmpty();
        assertThat(text(err))
                .startsWith("hvd-launch: there is no subcommand " + word + meant + "\n")
                .contains("usage: ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"-h", "--help"})
    void theHelpIsNoError(String flag) throws Exception {
        assertThat(run(flag)).isZero();

        assertThat(text(out))
                .startsWith("usage: java -jar hvd-launch.jar SUBCOMMAND")
                .contains("--version");
        assertThat(text(err)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"-v", "--version"})
    void theVersionIsOneLine(String flag) throws Exception {
        assertThat(run(flag)).isZero();
        assertThat(text(out).lines()).hasSize(1);
    }

    private int run(String... args) throws Exception {
        return new HvdCommand(
                        new PrintStream(out, true, StandardCharsets.UTF_8),
                        new PrintStream(err, true, StandardCharsets.UTF_8))
                .run(args);
    }

    private static String text(ByteArrayOutputStream bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
