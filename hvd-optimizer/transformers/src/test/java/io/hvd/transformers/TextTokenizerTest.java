package io.hvd.transformers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.hvd.error.HvdException;
import java.util.List;
import org.junit.jupiter.api.Test;

class TextTokenizerTest {
    /** It cuts texts at two tokens and pads them to eight, if it may. */
    private static final String JSON = """
            {"version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null, "decoder": null,
             "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0},
             "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                         "pad_type_id": 0, "pad_token": "[PAD]"},
             "pre_tokenizer": {"type": "Whitespace"},
             "model": {"type": "WordLevel", "unk_token": "[UNK]",
                       "vocab": {"[PAD]": 0, "[UNK]": 1, "a": 2, "b": 3, "c": 4}}}
            """;

    @Test
    void theLengthIsTheCallersAndNothingIsPadded() {
        try (TextTokenizer tokenizer = TextTokenizer.of(JSON, 3)) {
            List<long[]> tokens = tokenizer.encode(List.of("a", "a b c a", "d b"));
            assertThat(tokens.get(0)).containsExactly(2);
            assertThat(tokens.get(1)).containsExactly(2, 3, 4);
            assertThat(tokens.get(2)).containsExactly(1, 3);
            assertThat(tokenizer.encode("a b c a")).containsExactly(2, 3, 4);
        }
    }

    /** Otherwise DJL downloads a library on a host with CUDA. */
    @Test
    void theLibraryIsThatOfTheJar() {
        try (TextTokenizer tokenizer = TextTokenizer.of(JSON, 3)) {
            assertThat(System.getProperty(TextTokenizer.FLAVOR)).isEqualTo("cpu");
        }
    }

    @Test
    void whatIsNoTokenizerIsRefused() {
        assertThatThrownBy(() -> TextTokenizer.of("{}", 3))
                .isInstanceOf(HvdException.class)
                .hasMessageContaining("this tokenizer.json cannot be used");
    }
}
