package io.hvd.launch.setup;

import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Turns entries of both formats of sources.list(5) into entries for source packages. */
final class SourceEntries {

    private static final Pattern TYPES = Pattern.compile("(?i)^Types:.*");
    private static final Pattern ENTRY = Pattern.compile("^\\s*deb(?:-src)?(\\s.*)$");

    private SourceEntries() {}

    /** A stanza keeps its other fields, such as the key that signs. */
    static List<String> ofStanzas(List<String> lines) {
        return lines.stream()
                .map(line -> TYPES.matcher(line).replaceFirst("Types: deb-src"))
                .toList();
    }

    /** An entry keeps its options; one for a disk in the drive is left out. */
    static List<String> ofLines(List<String> lines) {
        var entries = new TreeSet<String>();
        for (String line : lines) {
            Matcher entry = ENTRY.matcher(line);
            if (entry.matches() && !line.contains("cdrom:")) {
                entries.add("deb-src" + entry.group(1));
            }
        }
        return List.copyOf(entries);
    }
}
