package io.hvd.examples.finetune;

import static org.assertj.core.api.Assertions.assertThat;

import io.hvd.transformers.TextTokenizer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TokenTextsTest {
    private static TokenTexts of(Task task, List<TextSample> texts) {
        try (TextTokenizer tokenizer = DrawnModel.of(task, texts, 8, 1).tokenizer(8)) {
            return TokenTexts.of(task, texts, tokenizer);
        }
    }

    private static List<TextSample> texts(int count) {
        List<TextSample> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            texts.add(new TextSample(i % 2 == 0 ? "even" : "odd", "number n" + i, "n" + i));
        }
        return texts;
    }

    @Test
    void aTextOfOneTokenHasACategoryButNoNextToken() {
        List<TextSample> texts = texts(19);
        texts.add(new TextSample("odd", "yes", "no"));
        TokenTexts found = of(Task.CLASSIFY, texts);
        assertThat(found.train()).hasSize(18);
        assertThat(found.test()).hasSize(2);
        assertThat(of(Task.LM, texts).test()).hasSize(1);
    }

    @Test
    void wordsOfAnyScriptAreKnown() {
        List<TextSample> texts = texts(20);
        texts.set(0, new TextSample("even", "учёт данных", "語"));
        long[] words = of(Task.PAIRS, texts).train().get(0).ids();
        assertThat(words).hasSize(2).doesNotHaveDuplicates().doesNotContain(1); // [UNK]
    }

    /** The ranks compare it: no part of the texts may differ. */
    @Test
    void theChecksumIsOfTextsSecondTextsAndLabelsInTrainingAndTest() {
        List<TextSample> texts = texts(20);
        try (TextTokenizer tokenizer = DrawnModel.of(Task.PAIRS, texts, 8, 1).tokenizer(8)) {
            long sum = TokenTexts.of(Task.PAIRS, texts, tokenizer).checksum();
            for (int place : new int[] {3, 9}) {
                for (TextSample other : List.of(
                        new TextSample("odd", "number n4", "n" + place),
                        new TextSample("odd", "number n" + place, "n4"),
                        new TextSample("even", "number n" + place, "n" + place))) {
                    List<TextSample> changed = new ArrayList<>(texts);
                    changed.set(place, other);
                    assertThat(TokenTexts.of(Task.PAIRS, changed, tokenizer).checksum())
                            .as("%s", other)
                            .isNotEqualTo(sum);
                }
            }
            assertThat(TokenTexts.of(Task.PAIRS, texts(20), tokenizer).checksum())
                    .isEqualTo(sum);
        }
    }

    @Test
    void theTestIsCutIntoBlocks() {
        TokenTexts found = of(Task.PAIRS, texts(70));
        assertThat(found.testBlocks(3)).hasSize(3).flatMap(block -> block).isEqualTo(found.test());
        assertThat(found.testBlocks(3).get(2)).hasSize(1);
    }
}
