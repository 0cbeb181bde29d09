package io.hvd.launch;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The file in which horovodrun remembers for an hour which hosts it has reached, and what network interfaces they
 * have: {@code ~/.cache/hvd/hosts}, readable by its owner only. A host that was not reached is never remembered.
 * One line per host: milliseconds, host, interfaces, separated by tabs.
 */
final class HostCache {

    private static final Duration LIFETIME = Duration.ofMinutes(60);
    private static final int FIELDS = 3;

    private final Path file;
    private final String view;
    private final Clock clock;

    private record Entry(long millis, Set<String> interfaces) {}

    /** @param view where the hosts are seen from and how, for example with which port; what was seen otherwise does not count */
    HostCache(Path file, String view, Clock clock) {
        this.file = file;
        this.view = view.replaceAll("\\s+", " ");
        this.clock = clock;
    }

    static Path file(Map<String, String> environment) {
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

    /** A cache that cannot be written costs time and nothing else, so nobody is bothered. */
    void remember(Map<String, Set<String>> reached) {
        Map<String, Entry> entries = read();
        reached.forEach((host, interfaces) -> entries.put(key(host), new Entry(clock.millis(), interfaces)));
        var text = new StringBuilder();
        entries.forEach((key, entry) -> text.append(entry.millis())
                .append('\t')
                .append(key)
                .append('\t')
                .append(String.join(",", entry.interfaces()))
                .append('\n'));
        try {
            write(text.toString());
        } catch (IOException | UnsupportedOperationException e) {
            return;
        }
    }

    private void write(String text) throws IOException {
        var owner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        Files.createDirectories(file.getParent(), owner);
        Path fresh = Files.createTempFile(file.getParent(), "hosts", ".tmp"); // for its owner only
        Files.writeString(fresh, text);
        Files.move(fresh, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
    }

    private Map<String, Entry> read() {
        Map<String, Entry> entries = new LinkedHashMap<>();
        try {
            Files.readAllLines(file).forEach(line -> read(line, entries));
        } catch (IOException e) {
            return entries; // not there yet, or not for us
        }
        return entries;
    }

    private void read(String line, Map<String, Entry> entries) {
        String[] fields = line.split("\t", FIELDS);
        if (fields.length < FIELDS || !fields[0].matches("\\d{1,18}")) {
            return;
        }
        long millis = Long.parseLong(fields[0]);
        long age = clock.millis() - millis;
        if (age >= 0 && age < LIFETIME.toMillis()) {
            Set<String> interfaces = fields[2].isEmpty() ? Set.of() : new TreeSet<>(Set.of(fields[2].split(",")));
            entries.put(fields[1], new Entry(millis, interfaces));
        }
    }

    private String key(String host) {
        return host + " " + view;
    }
}
