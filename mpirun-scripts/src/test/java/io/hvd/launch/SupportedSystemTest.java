package io.hvd.launch;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.launch.words.UsageException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SupportedSystemTest {

    @ParameterizedTest
    @ValueSource(strings = {"Linux", "Mac OS X"})
    void jobsAreStartedHere(String name) {
        assertThatCode(() -> SupportedSystem.require(name)).doesNotThrowAnyException();
    }

    @Test
    void onAnotherSystemASentenceSaysWhatToDo() {
        assertThatThrownBy(() -> SupportedSystem.require("Windows 11"))
                .isInstanceOf(UsageException.class)
                .hasMessageContainingAll(
                        "operating-system", "Linux and macOS", "this is Windows 11", "WSL", "Hvd.spawn");
    }
}
