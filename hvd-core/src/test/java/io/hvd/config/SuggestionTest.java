package io.hvd.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class SuggestionTest {
    private static final List<String> KNOWN = List.of("fusion", "fusion-threshold", "cycle-time", "np");

    @Test
    void theNearestWordIsMeantIfFewLettersDiffer() {
        assertThat(Suggestion.nearest("cicle-tyme", KNOWN)).contains("cycle-time");
        assertThat(Suggestion.nearest("fusino", KNOWN)).contains("fusion");
        assertThat(Suggestion.nearest("something-else", KNOWN)).isEmpty();
    }

    @Test
    void aWordThatWasBrokenOffIsMeantBeforeOneThatIsNearer() {
        assertThat(Suggestion.nearest("stall-check", List.of("stall-shock", "stall-check-seconds")))
                .contains("stall-check-seconds");
        assertThat(Suggestion.nearest("fus", KNOWN)).contains("fusion");
    }

    @Test
    void aShortWordIsNotGuessedAt() {
        assertThat(Suggestion.nearest("nq", KNOWN)).isEmpty();
    }
}
