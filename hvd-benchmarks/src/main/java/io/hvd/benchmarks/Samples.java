package io.hvd.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Timings by series and size, and words about who was timed. Each rank writes its own into a file of the run's
 * folder; whoever started the ranks reads them all. Not thread-safe.
 */
public final class Samples {
    private final List<Sample> samples = new ArrayList<>();
    private final Map<String, String> about = new TreeMap<>();

    private record Sample(String series, long bytes, double micros) {
        String line() {
            return "TIME " + series + " " + bytes + " " + micros;
        }
    }

    /** @param series one word */
    public void add(String series, long bytes, double micros) {
        samples.add(new Sample(series, bytes, micros));
    }

    public void about(String key, String words) {
        about.put(key, Result.word(words));
    }

    /** What is known of one who was timed; the key itself if nothing is. */
    public String about(String key) {
        return about.getOrDefault(key, key);
    }

    public boolean has(String series) {
        return samples.stream().anyMatch(sample -> sample.series().equals(series));
    }

    public List<Long> sizes(String series) {
        return samples.stream()
                .filter(sample -> sample.series().equals(series))
                .map(Sample::bytes)
                .distinct()
                .toList();
    }

    public List<Double> of(String series, long bytes) {
        return samples.stream()
                .filter(sample -> sample.series().equals(series) && sample.bytes() == bytes)
                .map(Sample::micros)
                .toList();
    }

    public Spread spread(String series, long bytes) {
        List<Double> timings = of(series, bytes);
        if (timings.isEmpty()) {
            throw new IllegalArgumentException("no timing of " + series + " with " + bytes + " bytes; there are "
                    + samples.stream().map(Sample::series).distinct().toList());
        }
        return Spread.of(timings);
    }

    /** Those of several runs, one behind the other. */
    public static Samples together(Collection<Samples> runs) {
        Samples all = new Samples();
        for (Samples run : runs) {
            all.samples.addAll(run.samples);
            all.about.putAll(run.about);
        }
        return all;
    }

    /** What {@link #write} writes, for a rank that does not see the folder. */
    public byte[] toBytes() {
        List<String> lines = new ArrayList<>();
        about.forEach((key, words) -> lines.add("ABOUT " + key + " " + words));
        samples.forEach(sample -> lines.add(sample.line()));
        return (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    public void write(Path folder, int rank) {
        write(folder, rank, toBytes());
    }

    /** Those of another rank, which has sent its bytes. */
    public static void write(Path folder, int rank, byte[] samples) {
        try {
            Files.write(file(folder, rank), samples);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A collective lasts until its last rank has it: of each timing, the one of the slowest rank. */
    static Samples ofSlowest(Path folder, int ranks) throws IOException {
        Samples slowest = read(file(folder, 0));
        for (int rank = 1; rank < ranks; rank++) {
            List<Sample> others = read(file(folder, rank)).samples;
            for (int i = 0; i < slowest.samples.size(); i++) {
                Sample mine = slowest.samples.get(i);
                slowest.samples.set(
                        i,
                        new Sample(
                                mine.series(),
                                mine.bytes(),
                                Math.max(mine.micros(), others.get(i).micros())));
            }
        }
        return slowest;
    }

    private static Samples read(Path file) throws IOException {
        Samples read = new Samples();
        for (String line : Files.readAllLines(file)) {
            String[] words = line.split(" ");
            if (words[0].equals("ABOUT")) {
                read.about(words[1], words[2]);
            } else {
                read.add(words[1], Long.parseLong(words[2]), Double.parseDouble(words[3]));
            }
        }
        return read;
    }

    private static Path file(Path folder, int rank) {
        return folder.resolve("rank-" + rank + ".samples");
    }
}
