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
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * Timings by series and size, and facts about the programs that were timed. Each rank writes its own samples into a
 * file in the run's folder, and the program that has started the ranks reads all of them. Not thread-safe.
 */
public final class Samples {
    /** The series of MPI by foreign functions, which there is only where Java has them. */
    public static final String FOREIGN = "foreign";

    private static final String SAID = "SAMPLE ";

    private final List<Sample> samples = new ArrayList<>();
    private final Map<String, String> about = new TreeMap<>();
    private int launches = 1;
    private double startedMicros;
    private long capacity;
    private long others;

    /** @param launch the number of the launch, counted from 0 */
    private record Sample(int launch, String series, long bytes, double micros) {
        String line() {
            return "TIME " + series + " " + bytes + " " + micros;
        }
    }

    /** @param series its name, one word */
    public void add(String series, long bytes, double micros) {
        samples.add(new Sample(0, series, bytes, micros));
    }

    public void about(String key, String words) {
        about.put(key, Result.word(words));
    }

    /** The fact under a key, such as a version; the key itself if there is none. */
    public String about(String key) {
        return about.getOrDefault(key, key);
    }

    /**
     * Notes when a launch has begun, and what other programs have had of the machine's processors until it ended.
     *
     * @param micros microseconds since 1970
     */
    void launched(double micros, long capacityTicks, long othersTicks) {
        startedMicros = micros;
        capacity = capacityTicks;
        others = othersTicks;
    }

    /** Adds what other programs have had of the processors during the launches of other samples. */
    void hadAs(Samples more) {
        capacity += more.capacity;
        others += more.others;
    }

    /** When the launch has begun, in microseconds since 1970. */
    double startedMicros() {
        return startedMicros;
    }

    /** The percentage of the machine's processor time that other programs had during the launches; 0 if nobody looked. */
    double othersPercent() {
        return capacity == 0 ? 0 : 100.0 * others / capacity;
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
        return micros(series, bytes, sample -> true);
    }

    private List<Double> micros(String series, long bytes, Predicate<Sample> wanted) {
        return samples.stream()
                .filter(sample -> sample.series().equals(series) && sample.bytes() == bytes)
                .filter(wanted)
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

    /**
     * The ratios of their times to ours, round by round, where both have taken turns.
     *
     * @throws IllegalArgumentException if the two have different numbers of timings
     */
    Spread ratios(String ours, String theirs, long bytes) {
        return Spread.ofRatios(of(ours, bytes), of(theirs, bytes));
    }

    /** The ratio of their median time to ours, for each launch that has timed both. */
    List<Double> launchRatios(String ours, String theirs, long bytes) {
        List<Double> ratios = new ArrayList<>();
        for (int launch = 0; launch < launches; launch++) {
            int number = launch;
            List<Double> mine = micros(ours, bytes, sample -> sample.launch() == number);
            List<Double> other = micros(theirs, bytes, sample -> sample.launch() == number);
            if (!mine.isEmpty() && !other.isEmpty()) {
                ratios.add(Spread.of(other).median() / Spread.of(mine).median());
            }
        }
        return ratios;
    }

    /** The samples of several launches, one after the other. */
    public static Samples together(Collection<Samples> runs) {
        Samples all = new Samples();
        all.launches = 0;
        for (Samples run : runs) {
            int before = all.launches;
            run.samples.forEach(each ->
                    all.samples.add(new Sample(before + each.launch(), each.series(), each.bytes(), each.micros())));
            all.launches += run.launches;
            all.about.putAll(run.about);
            all.hadAs(run);
        }
        return all;
    }

    /** The content of the file that {@link #write} writes, for a rank that does not see the folder. */
    public byte[] toBytes() {
        List<String> lines = new ArrayList<>();
        about.forEach((key, words) -> lines.add("ABOUT " + key + " " + words));
        samples.forEach(sample -> lines.add(sample.line()));
        return (String.join("\n", lines) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    public void write(Path folder, int rank) {
        write(folder, rank, toBytes());
    }

    /** Writes the file of another rank, which has sent its content. */
    public static void write(Path folder, int rank, byte[] samples) {
        try {
            Files.write(file(folder, rank), samples);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private List<String> lines() {
        List<String> lines = new ArrayList<>();
        about.forEach((key, words) -> lines.add("ABOUT " + key + " " + words));
        samples.forEach(sample -> lines.add(sample.line()));
        return lines;
    }

    /** The lines by which ranks on other hosts print their samples. */
    public String said(int rank) {
        return lines().stream().map(line -> SAID + rank + " " + line + "\n").collect(Collectors.joining());
    }

    /** Reads the samples that the ranks of a job have printed among other lines. */
    static Samples ofSlowest(List<String> output, int ranks) {
        List<Samples> all = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            String mine = SAID + rank + " ";
            all.add(read(output.stream()
                    .filter(line -> line.startsWith(mine))
                    .map(line -> line.substring(mine.length()))
                    .toList()));
        }
        return ofSlowest(all);
    }

    static Samples ofSlowest(Path folder, int ranks) throws IOException {
        List<Samples> all = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            all.add(read(Files.readAllLines(file(folder, rank))));
        }
        return ofSlowest(all);
    }

    /** The slowest rank's time in each round, because a collective lasts until its last rank is done. */
    private static Samples ofSlowest(List<Samples> ranks) {
        Samples slowest = ranks.get(0);
        for (Samples rank : ranks.subList(1, ranks.size())) {
            List<Sample> others = rank.samples;
            for (int i = 0; i < slowest.samples.size(); i++) {
                Sample mine = slowest.samples.get(i);
                slowest.samples.set(
                        i,
                        new Sample(
                                mine.launch(),
                                mine.series(),
                                mine.bytes(),
                                Math.max(mine.micros(), others.get(i).micros())));
            }
        }
        return slowest;
    }

    private static Samples read(List<String> lines) {
        Samples read = new Samples();
        for (String line : lines) {
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
