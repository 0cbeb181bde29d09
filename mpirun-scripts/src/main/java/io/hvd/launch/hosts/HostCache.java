package io.hvd.launch.hosts;

import io.hvd.file.RegularFile;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The file in which horovodrun remembers for an hour which hosts it has reached, and what network interfaces they
 * have: {@code ~/.cache/hvd/hosts}, readable by its owner only. A host that was not reached is never remembered.
 * One line per host: milliseconds, host, interfaces, what it calls itself, separated by tabs. A line that is damaged does not count.
 */
public final class HostCache {

    private static final Duration LIFETIME = Duration.ofMinutes(60);
    private static final Pattern INTERFACE = Pattern.compile("[\\w.:@-]+");
    private static final Pattern LINE = Pattern.compile(String.format(
            Locale.ROOT, "(\\d{1,18})\t([^\\t\\v]+)\t((?:%1$s(?:,%1$s)*)?)(?:\tname=([\\w.-]+))?", INTERFACE));
    /** A cache of thousands of hosts is no longer than this; a longer file is not one of ours. */
    private static final long MOST_BYTES = 1 << 20;

    private final Path file;
    private final String view;
    private final Clock clock;

    private record Entry(long millis, Set<String> interfaces, String hostname) {
        /** Empty where it could not be read back as it is. */
        Optional<String> line(String key) {
            return Optional.of(millis + "\t" + key + "\t" + String.join(",", interfaces)
                            + (hostname.isEmpty() ? "" : "\tname=" + hostname))
                    .filter(LINE.asMatchPredicate())
                    .filter(any -> interfaces.stream().allMatch(INTERFACE.asMatchPredicate()));
        }
    }

    /** @param view where the hosts are seen from and how, for example with which port; what was seen otherwise does not count */
    HostCache(Path file, String view, Clock clock) {
        this.file = file;
        this.view = view.replaceAll("\\s+", " ");
        this.clock = clock;
    }

    public static Path file(Map<String, String> environment) {
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path folder = cache.startsWith("/")
                ? Path.of(cache)
                : Path.of(environment.getOrDefault("HOME", System.getProperty("user.home")), ".cache");
        return folder.resolve("hvd").resolve("hosts");
    }

    /** The interfaces of those hosts that were reached within the last hour. */
    Map<String, Set<String>> recent(Set<String> hosts) {
        Map<String, Set<String>> found = new TreeMap<>();
        Map<String, Entry> entries = read();
        for (String host : hosts) {
            Entry entry = entries.get(key(host));
            if (entry != null) {
                found.put(host, entry.interfaces());
            }
        }
        return found;
    }

    /** What those hosts call themselves, as far as it is known. */
    Map<String, String> hostnames(Set<String> hosts) {
        Map<String, String> found = new TreeMap<>();
        Map<String, Entry> entries = read();
        for (String host : hosts) {
            Entry entry = entries.get(key(host));
            if (entry != null && !entry.hostname().isEmpty()) {
                found.put(host, entry.hostname());
            }
        }
        return found;
    }

    /**
     * A cache that cannot be written costs time and nothing else, so nobody is bothered.
     *
     * @param hostnames what the hosts call themselves
     */
    void remember(Map<String, Set<String>> reached, Map<String, String> hostnames) {
        Map<String, Entry> entries = read();
        reached.forEach((host, interfaces) ->
                entries.put(key(host), new Entry(clock.millis(), interfaces, hostnames.getOrDefault(host, ""))));
        String text = entries.entrySet().stream()
                .flatMap(entry -> entry.getValue().line(entry.getKey()).stream())
                .map(line -> line + "\n")
                .collect(Collectors.joining());
        try {
            write(text);
        } catch (IOException | UnsupportedOperationException e) {
            return;
        }
    }

    private void write(String text) throws IOException {
        var owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        Files.createDirectories(file.getParent(), owner);
        var onlyMine = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));
        WholeFile.write(file, text.getBytes(StandardCharsets.UTF_8), onlyMine);
    }

    /** What is damaged costs a look at its host and nothing else. */
    private Map<String, Entry> read() {
        Map<String, Entry> entries = new LinkedHashMap<>();
        try {
            if (Files.size(file) <= MOST_BYTES) {
                Files.readAllLines(RegularFile.at(file)).forEach(line -> read(line, entries));
            }
        } catch (IOException e) {
            return entries; // not there yet, or not for us, or no text
        }
        return entries;
    }

    private void read(String line, Map<String, Entry> entries) {
        Matcher fields = LINE.matcher(line);
        if (!fields.matches()) {
            return;
        }
        long millis = Long.parseLong(fields.group(1));
        long age = clock.millis() - millis;
        if (age >= 0 && age < LIFETIME.toMillis()) {
            String interfaces = fields.group(3);
            entries.put(
                    fields.group(2),
                    new Entry(
                            millis,
                            interfaces.isEmpty() ? Set.of() : new TreeSet<>(List.of(interfaces.split(","))),
                            Optional.ofNullable(fields.group(4)).orElse("")));
        }
    }

    private String key(String host) {
        return host + " " + view;
    }
}
