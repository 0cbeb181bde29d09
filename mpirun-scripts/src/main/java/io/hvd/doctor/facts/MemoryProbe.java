package io.hvd.doctor.facts;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;

/** How much memory there is: that of the machine, or what the container may use of it. */
final class MemoryProbe {

    private static final Pattern TOTAL = Pattern.compile("MemTotal:\\s+(\\d+) kB");
    /** The limits of control groups, version 2 and 1, as a container sees them. */
    private static final List<String> LIMITS =
            List.of("sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes");

    private static final long KIBI = 1024;

    private final Path root;

    MemoryProbe(Path root) {
        this.root = root;
    }

    /** In bytes; 0 if nobody says. */
    long total() {
        LongStream limits = LIMITS.stream().map(this::limit).flatMapToLong(OptionalLong::stream);
        return LongStream.concat(machine().stream(), limits).min().orElse(0);
    }

    private OptionalLong machine() {
        Matcher total = TOTAL.matcher(read("proc/meminfo"));
        return total.find() ? OptionalLong.of(Long.parseLong(total.group(1)) * KIBI) : OptionalLong.empty();
    }

    /** A container without a limit says "max", or in version 1 a number beyond any memory. */
    private OptionalLong limit(String file) {
        String text = read(file);
        return text.matches("\\d{1,18}") ? OptionalLong.of(Long.parseLong(text)) : OptionalLong.empty();
    }

    private String read(String file) {
        try {
            return Files.readString(root.resolve(file)).strip();
        } catch (IOException e) {
            return "";
        }
    }
}
