package io.hvd.config;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
import java.io.IOException;
import java.io.InputStream;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.security.CodeSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The facts of one rank that are compared at init: the settings that must agree, and the code, the libraries
 * and the Java that it runs. Ranks hand each other {@link #toBytes} and compare what they got.
 *
 * @param values the facts by key, in the order of the keys
 */
public record RankFacts(SortedMap<String, String> values) {
    private static final String VERSION = "hvd version";
    private static final String CODE = "hvd classes";
    private static final String JAVA_MAJOR = "Java major version";
    /** Differences within one major version do no harm. */
    public static final String JAVA = "Java version";

    private static final String ARCHITECTURE = "processor architecture";
    /** Optional on the class path; by artifact, what the message calls their versions. */
    private static final Map<String, String> LIBRARIES = Map.of(
            "pytorch", "LibTorch version",
            "javacpp", "JavaCPP version");

    public RankFacts {
        values = Collections.unmodifiableSortedMap(new TreeMap<>(values));
    }

    /**
     * The facts of this process. A setting counts as what it means, however it is written, and one that
     * means its default as not set.
     */
    public static RankFacts gather(Map<String, String> environment) {
        SortedMap<String, String> values = new TreeMap<>();
        SettingReader set = HvdConfig.read(environment);
        SettingReader unset = HvdConfig.read(Map.of());
        for (Setting setting : Setting.values()) {
            String meaning = set.meaning(setting);
            if (setting.scope() == Setting.Scope.JOB && !meaning.equals(unset.meaning(setting))) {
                values.put(setting.variable(), meaning);
            }
        }
        LIBRARIES.forEach(
                (artifact, library) -> versionOf(artifact).ifPresent(version -> values.put(library, version)));
        values.put(VERSION, version());
        values.put(CODE, OwnCode.DIGEST);
        values.put(JAVA_MAJOR, Integer.toString(Runtime.version().feature()));
        values.put(JAVA, Runtime.version() + " of " + System.getProperty("java.vendor"));
        values.put(ARCHITECTURE, System.getProperty("os.arch"));
        return new RankFacts(values);
    }

    /** These facts and one more, such as the version of a native library. */
    public RankFacts with(String key, String value) {
        SortedMap<String, String> more = new TreeMap<>(values);
        more.put(key, value);
        return new RankFacts(more);
    }

    public byte[] toBytes() {
        return MessageWriter.encode(out -> out.writeList(List.copyOf(values.entrySet()), (to, fact) -> {
            to.writeText(fact.getKey());
            to.writeText(fact.getValue());
        }));
    }

    /** The way back from {@link #toBytes}. */
    public static RankFacts of(byte[] bytes) {
        SortedMap<String, String> values = new TreeMap<>();
        MessageReader.decode(
                "what a rank says of itself",
                bytes,
                message -> message.readList(in -> values.put(in.readText(), in.readText())));
        return new RankFacts(values);
    }

    /**
     * The differences that keep these ranks from working together, one sentence per key.
     *
     * @param byRank the facts of rank 0, of rank 1 and so on
     */
    public static List<String> differences(List<RankFacts> byRank) {
        return differences(byRank, IntStream.range(0, byRank.size()).boxed().toList());
    }

    /** @param ranks global numbers, for the message */
    public static List<String> differences(List<RankFacts> byRank, List<Integer> ranks) {
        return keys(byRank).stream()
                .filter(key -> !key.equals(JAVA))
                .flatMap(key -> difference(key, byRank, ranks).stream())
                .toList();
    }

    /** The differences that do no harm, for the log. */
    public static List<String> harmlessDifferences(List<RankFacts> byRank) {
        return difference(
                        JAVA, byRank, IntStream.range(0, byRank.size()).boxed().toList())
                .stream()
                .toList();
    }

    private static SortedSet<String> keys(List<RankFacts> byRank) {
        SortedSet<String> keys = new TreeSet<>();
        byRank.forEach(facts -> keys.addAll(facts.values.keySet()));
        return keys;
    }

    private static Optional<String> difference(String key, List<RankFacts> byRank, List<Integer> numbers) {
        Map<String, List<Integer>> ranksByValue = new LinkedHashMap<>();
        List<Integer> without = new ArrayList<>();
        for (int rank = 0; rank < byRank.size(); rank++) {
            String value = byRank.get(rank).values.get(key);
            (value == null ? without : ranksByValue.computeIfAbsent(value, any -> new ArrayList<>()))
                    .add(numbers.get(rank));
        }
        if (ranksByValue.size() + (without.isEmpty() ? 0 : 1) < 2) {
            return Optional.empty();
        }
        List<String> groups = new ArrayList<>();
        ranksByValue.forEach((value, ranks) -> groups.add("\"" + value + "\" on ranks " + set(ranks)));
        if (!without.isEmpty()) {
            groups.add("absent on ranks " + set(without));
        }
        return Optional.of(key + ": " + String.join("; ", groups));
    }

    private static String set(List<Integer> ranks) {
        return ranks.stream().map(String::valueOf).collect(Collectors.joining(", ", "{", "}"));
    }

    private static String version() {
        return Optional.ofNullable(RankFacts.class.getPackage().getImplementationVersion())
                .orElse("not packaged");
    }

    /**
     * The version of one of bytedeco's jars, from what Maven has left in it. No class is touched and nothing native is
     * loaded.
     */
    private static Optional<String> versionOf(String artifact) {
        String file = "META-INF/maven/org.bytedeco/" + artifact + "/pom.properties";
        try (InputStream in = RankFacts.class.getClassLoader().getResourceAsStream(file)) {
            if (in == null) {
                return Optional.empty();
            }
            Properties properties = new Properties();
            properties.load(in);
            return Optional.ofNullable(properties.getProperty("version"));
        } catch (IOException e) {
            return Optional.of("not readable");
        }
    }

    /** The digest is computed once: a process may join many jobs, and its classes stay the same. */
    private static final class OwnCode {
        static final String DIGEST = code();
    }

    private static String code() {
        CodeSource source = RankFacts.class.getProtectionDomain().getCodeSource();
        try {
            return source == null
                    ? "of unknown origin"
                    : CodeDigest.of(Path.of(source.getLocation().toURI()));
        } catch (IOException | URISyntaxException | RuntimeException e) {
            return "not readable"; // from a class loader without files
        }
    }
}
