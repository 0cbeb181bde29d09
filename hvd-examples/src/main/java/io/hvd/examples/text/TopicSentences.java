package io.hvd.examples.text;

import io.hvd.data.SplitMix64;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Sentences about topics that the program draws. Their words follow Zipf's law, the n-th word being n times rarer than the
 * first. Each topic has phrases of two or three frequent words. A sentence has one to three of its topic's phrases, and some of
 * those with more than one have one of another topic's too. The words alone say little, because they occur in all topics.
 *
 * <p>G. K. Zipf, "Human Behavior and the Principle of Least Effort", 1949.
 */
public final class TopicSentences {
    private static final int VOCABULARY = 5_000;
    private static final int TOPICS = 5;
    private static final int PHRASES = 12;
    /** The words of phrases are among so many of the most frequent ones. */
    private static final int FREQUENT = 200;

    private static final int SHORTEST = 10;
    private static final int LONGEST = 50;
    private static final double STRAY = 0.2;

    private final SplitMix64 random;
    private final double[] cumulated = new double[VOCABULARY];
    private final List<List<List<String>>> phrases;

    private TopicSentences(long seed) {
        random = new SplitMix64(seed);
        double sum = 0;
        for (int n = 0; n < VOCABULARY; n++) {
            sum += 1.0 / (n + 1);
            cumulated[n] = sum;
        }
        phrases = IntStream.range(0, TOPICS)
                .mapToObj(topic -> IntStream.range(0, PHRASES)
                        .mapToObj(i -> phrase(2 + i % 2))
                        .toList())
                .toList();
    }

    /** A sentence. @param label its topic */
    public record Drawn(String label, List<String> words) {}

    /** Draws so many sentences, which depend on the seed only. */
    public static List<Drawn> texts(int count, long seed) {
        return of(count, seed).stream()
                .map(sentence -> new Drawn(sentence.label(), sentence.words()))
                .toList();
    }

    /** As {@link #texts}. */
    static List<Corpus.Sentence> of(int count, long seed) {
        TopicSentences source = new TopicSentences(seed);
        return IntStream.range(0, count).mapToObj(i -> source.sentence()).toList();
    }

    private List<String> phrase(int length) {
        return IntStream.range(0, length)
                .mapToObj(i -> word(1 + random.nextInt(FREQUENT)))
                .toList();
    }

    private Corpus.Sentence sentence() {
        int topic = random.nextInt(TOPICS);
        int length = SHORTEST + random.nextInt(LONGEST - SHORTEST + 1);
        int own = 1 + random.nextInt(3);
        List<List<String>> parts = new ArrayList<>();
        for (int i = 0; i < own; i++) {
            parts.add(phrases.get(topic).get(random.nextInt(PHRASES)));
        }
        if (own > 1 && random.nextDouble() < STRAY) {
            int other = (topic + 1 + random.nextInt(TOPICS - 1)) % TOPICS;
            parts.add(phrases.get(other).get(random.nextInt(PHRASES)));
        }
        return new Corpus.Sentence("topic" + topic, woven(parts, length));
    }

    /** Drawn words with the phrases at random places among them. */
    private List<String> woven(List<List<String>> parts, int length) {
        List<List<String>> pieces = new ArrayList<>(parts);
        int words = parts.stream().mapToInt(List::size).sum();
        for (int i = words; i < length; i++) {
            pieces.add(random.nextInt(pieces.size() + 1), List.of(drawn()));
        }
        return pieces.stream().flatMap(List::stream).toList();
    }

    private String drawn() {
        double at = random.nextDouble() * cumulated[VOCABULARY - 1];
        int place = Arrays.binarySearch(cumulated, at);
        return word(1 + Math.min(VOCABULARY - 1, place < 0 ? -place - 1 : place + 1));
    }

    private static String word(int number) {
        return "w" + number;
    }
}
