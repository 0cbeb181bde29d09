package io.hvd.launch.words;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class SecretWordsTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "MY_TOKEN",
                "HF_TOKEN",
                "WANDB_API_KEY",
                "DbPassword",
                "SECRET",
                "AWS_SESSION",
                "AWS_ACCESS_KEY_ID",
                "-Dtracker.token",
                "--api-key",
                "PASSPHRASE_OF_IT"
            })
    void theValueOfASecretIsNotShownItsNameIs(String name) {
        assertThat(SecretWords.hidden(List.of("-x", name + "=s3cret\ns3cret", "A=b")))
                .containsExactly("-x", name + "=***", "A=b");
    }

    @Test
    void neitherIsTheWordBehindAFlag() {
        assertThat(SecretWords.hidden(List.of("train", "--token", "s3cret", "--password", "-v", "--lr", "0.1")))
                .containsExactly("train", "--token", "***", "--password", "-v", "--lr", "0.1");
    }

    @ParameterizedTest
    @ValueSource(strings = {"HOROVOD_CYCLE_TIME=3", "PATH=/bin:/usr/bin", "LAWS_OF=physics", "--epochs=5", "java"})
    void everythingElseIsShown(String word) {
        assertThat(SecretWords.hidden(word)).isEqualTo(word);
    }

    @Test
    void aComplaintAboutAnOpenQuoteDoesNotShowItEither() {
        assertThatThrownBy(() -> ShellWords.split("--mpi-args", "-x MY_TOKEN='s3cret"))
                .hasMessageContaining("MY_TOKEN=***")
                .message()
                .doesNotContain("s3cret");
    }
}
