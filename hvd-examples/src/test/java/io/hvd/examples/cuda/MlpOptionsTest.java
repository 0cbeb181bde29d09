package io.hvd.examples.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.Compression;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.ParseException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MlpOptionsTest {
    private static MlpOptions options(String... flags) throws ParseException {
        return MlpOptions.from(new DefaultParser().parse(MlpOptions.flags(), flags));
    }

    @Test
    void withoutFlagsItIsTwoHiddenLayersSgdAndTheDigits() throws ParseException {
        MlpOptions options = options();

        assertThat(options.data()).isEqualTo("digits");
        assertThat(options.hidden()).containsExactly(128, 64);
        assertThat(options.optimizer()).isEqualTo("sgd");
        assertThat(options.compression()).isEqualTo(Compression.NONE);
        assertThat(options.learningRate(4)).isEqualTo(4 * 0.02);
    }

    @Test
    void adamHasALearningRateOfItsOwn() throws ParseException {
        assertThat(options("--optimizer", "adam").learningRate(1)).isEqualTo(0.002);
        assertThat(options("--optimizer", "adam", "--lr", "0.5").learningRate(1))
                .isEqualTo(0.5);
    }

    @ParameterizedTest
    @CsvSource({
        "--hidden 128;64, commas between them",
        "--hidden 0, from 1 to 99999",
        "'--hidden 8,', from 1 to 99999",
        "--data cifar, expected one of",
        "--optimizer lamb, expected one of",
        "--optimizer adam --momentum 0.5, is for --optimizer sgd",
        "--data-dir /data, needs --data mnist",
        "--lr 0, greater than 0",
        "--epochs 0, at least 1",
    })
    void whatIsWrongIsNamed(String flags, String said) {
        assertThatThrownBy(() -> options(flags.split(" ")))
                .isInstanceOf(ParseException.class)
                .hasMessageContaining(said);
    }
}
