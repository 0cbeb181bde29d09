package io.hvd.examples.finetune;

import io.hvd.transformers.TextTokenizer;
import io.hvd.transformers.TokenBatch;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.zip.CRC32;

/**
 * The texts in tokens.
 *
 * @param labels the different categories, sorted; a sample has the place of its own
 * @param test every tenth text, the short ones first, so that little is padded
 */
record TokenTexts(List<String> labels, List<Sample> train, List<Sample> test) {
    /** Every tenth text is for the test. */
    private static final int TEST_SHARE = 10;

    /** A text. @param second the tokens of the text that belongs to it; empty for none */
    record Sample(long[] ids, long[] second, int label) {
        int length() {
            return Math.max(ids.length, second.length);
        }
    }

    /** Texts of one step of a rank. @param second null where the task has none */
    record Batch(TokenBatch first, TokenBatch second, long[] labels) {
        static Batch of(List<Sample> samples) {
            boolean paired = samples.get(0).second.length > 0;
            return new Batch(
                    TokenBatch.of(samples.stream().map(Sample::ids).toList()),
                    paired ? TokenBatch.of(samples.stream().map(Sample::second).toList()) : null,
                    samples.stream().mapToLong(Sample::label).toArray());
        }

        int size() {
            return labels.length;
        }
    }

    static TokenTexts of(List<TextSample> texts, TextTokenizer tokenizer) {
        List<String> labels =
                texts.stream().map(TextSample::label).distinct().sorted().toList();
        List<long[]> first =
                tokenizer.encode(texts.stream().map(TextSample::text).toList());
        List<long[]> second =
                tokenizer.encode(texts.stream().map(TextSample::second).toList());
        List<Sample> train = new ArrayList<>();
        List<Sample> test = new ArrayList<>();
        for (int i = 0; i < texts.size(); i++) {
            TextSample text = texts.get(i);
            Sample sample = new Sample(
                    first.get(i), text.second().isEmpty() ? new long[0] : second.get(i), labels.indexOf(text.label()));
            if (sample.ids.length > 1) {
                (i % TEST_SHARE == TEST_SHARE - 1 ? test : train).add(sample);
            }
        }
        test.sort(Comparator.comparingInt(Sample::length));
        return new TokenTexts(labels, train, test);
    }

    long checksum() {
        CRC32 sum = new CRC32();
        train.forEach(sample -> {
            for (long id : sample.ids) {
                sum.update((int) id);
                sum.update((int) (id >>> Byte.SIZE));
            }
        });
        return sum.getValue();
    }

    long[] lengths() {
        return train.stream().mapToLong(Sample::length).toArray();
    }
}
