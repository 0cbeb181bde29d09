package io.hvd.examples.text;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.zip.CRC32;

/**
 * Sentences with a label each, in numbers.
 *
 * @param labels the different labels, sorted; a sample has the place of its own
 * @param words the words in the order of their numbers, beginning with {@link #PADDING} and {@link #UNKNOWN}
 */
record Corpus(List<String> labels, List<String> words, List<Sample> train, List<Sample> test) {
    /** The word that fills short sentences up; number 0. */
    static final String PADDING = "<pad>";
    /** Every word that is not among the known ones; number 1. */
    static final String UNKNOWN = "<unk>";
    /** Words beyond these, the most frequent ones of the training part, are unknown. */
    private static final int MOST_WORDS = 50_000;
    /** Every tenth sentence is for the test. */
    private static final int TEST_SHARE = 10;

    /** A sentence with its label, as it was read. */
    record Sentence(String label, List<String> words) {}

    /** A sentence in numbers. @param words as many as a sentence may have at most */
    record Sample(int label, int[] words) {}

    /** Every tenth sentence is for the test, all others are for the training. @param longest words of a sentence that are kept */
    static Corpus of(List<Sentence> sentences, int longest) {
        List<Sentence> train = new ArrayList<>();
        List<Sentence> test = new ArrayList<>();
        for (int i = 0; i < sentences.size(); i++) {
            (i % TEST_SHARE == TEST_SHARE - 1 ? test : train).add(sentences.get(i));
        }
        List<String> labels = List.copyOf(
                new TreeSet<>(sentences.stream().map(Sentence::label).toList()));
        List<String> words = vocabulary(train);
        Map<String, Integer> numbers = numbers(words);
        return new Corpus(
                labels, words, samples(train, labels, numbers, longest), samples(test, labels, numbers, longest));
    }

    private static List<String> vocabulary(List<Sentence> train) {
        Map<String, Integer> counts = new HashMap<>();
        train.forEach(sentence -> sentence.words().forEach(word -> counts.merge(word, 1, Integer::sum)));
        List<String> words = new ArrayList<>(List.of(PADDING, UNKNOWN));
        counts.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder())
                        .thenComparing(Map.Entry.comparingByKey()))
                .limit(MOST_WORDS)
                .forEach(entry -> words.add(entry.getKey()));
        return List.copyOf(words);
    }

    private static Map<String, Integer> numbers(List<String> words) {
        Map<String, Integer> numbers = new HashMap<>();
        words.forEach(word -> numbers.put(word, numbers.size()));
        return numbers;
    }

    private static List<Sample> samples(
            List<Sentence> sentences, List<String> labels, Map<String, Integer> numbers, int longest) {
        int unknown = numbers.get(UNKNOWN);
        return sentences.stream()
                .map(sentence -> {
                    int[] padded = new int[longest];
                    for (int i = 0; i < Math.min(longest, sentence.words().size()); i++) {
                        padded[i] = numbers.getOrDefault(sentence.words().get(i), unknown);
                    }
                    return new Sample(labels.indexOf(sentence.label()), padded);
                })
                .toList();
    }

    /** A checksum by which ranks compare what they have read. */
    long checksum() {
        CRC32 sum = new CRC32();
        labels.forEach(label -> sum.update(label.getBytes(StandardCharsets.UTF_8)));
        words.forEach(word -> sum.update(word.getBytes(StandardCharsets.UTF_8)));
        for (Sample sample : train) {
            sum.update(Arrays.hashCode(sample.words()) + 31 * sample.label());
            sum.update(Arrays.hashCode(sample.words()) >> 8);
            sum.update(Arrays.hashCode(sample.words()) >> 16);
        }
        return sum.getValue();
    }
}
