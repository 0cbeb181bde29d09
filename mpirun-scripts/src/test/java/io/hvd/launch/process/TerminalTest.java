package io.hvd.launch.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class TerminalTest {

    @Test
    void theForegroundGroupOfATerminalIsInTheForeground() {
        assertThat(Terminal.isForeground("42 (java) S 7 42 7 34816 42 4194304 0"))
                .isTrue();
        assertThat(Terminal.isForeground("42 (a) S 1 (b) S 7 42 7 34816 42 4194304 0"))
                .isTrue();
    }

    @Test
    void anotherGroupOrNoTerminalIsNot() {
        assertThat(Terminal.isForeground("42 (java) S 7 42 7 34816 7 4194304 0"))
                .isFalse();
        assertThat(Terminal.isForeground("42 (java) S 7 42 7 0 -1 4194304 0")).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "/dev/pts/0, true",
        "/dev/tty1, true",
        "/dev/console, true",
        "/dev/null, false",
        "pipe:[77], false",
        "/home/pts/0, false"
    })
    void anOpenFileIsATerminalByItsName(String file, boolean terminal) {
        assertThat(Terminal.isDevice(file)).isEqualTo(terminal);
    }
}
