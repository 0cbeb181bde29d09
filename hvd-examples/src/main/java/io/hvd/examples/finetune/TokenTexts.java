package io.hvd.examples.finetune;

import io.hvd.transformers.TextTokenizer;
import io.hvd.transformers.TokenBatch;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
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

    /** Texts with too few tokens for the task are left out: one, or two for the loss of a next token. */
    static TokenTexts of(Task task, List<TextSample> texts, TextTokenizer tokenizer) {
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
            boolean enough = sample.ids.length >= (task == Task.LM ? 2 : 1);
            if (enough && (task != Task.PAIRS || sample.second.length > 0)) {
                (i % TEST_SHARE == TEST_SHARE - 1 ? test : train).add(sample);
            }
        }
        test.sort(Comparator.comparingInt(Sample::length));
        return new TokenTexts(labels, train, test);
    }

    /** Of all that the ranks must have in common. */
    long checksum() {
        CRC32 sum = new CRC32();
        labels.forEach(label -> sum.update((label + "\n").getBytes(StandardCharsets.UTF_8)));
        Stream.concat(train.stream(), test.stream()).forEach(sample -> {
            update(sum, train.size(), sample.label, sample.ids.length);
            update(sum, sample.ids);
            update(sum, sample.second);
        });
        return sum.getValue();
    }

    private static void update(CRC32 sum, long... numbers) {
        ByteBuffer bytes = ByteBuffer.allocate(numbers.length * Long.BYTES);
        bytes.asLongBuffer().put(numbers);
        sum.update(bytes);
    }

    /** The test in blocks, which do not depend on the number of ranks: a pair is compared with those of its block. */
    List<List<Sample>> testBlocks(int size) {
        List<List<Sample>> blocks = new ArrayList<>();
        for (int from = 0; from < test.size(); from += size) {
            blocks.add(test.subList(from, Math.min(test.size(), from + size)));
        }
        return blocks;
    }

    long[] lengths() {
        return train.stream().mapToLong(Sample::length).toArray();
    }
}
