package io.hvd.launch.options;

import io.hvd.config.HvdProgram;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.stream.Collectors;

/** Makes the text of {@code --help}: a line for each flag, the keys of a config file, and the exit codes. */
public final class HelpText {

    private HelpText() {}

    public static String text() {
        var text =
                new StringBuilder("usage: " + HvdProgram.HOROVODRUN.line() + " -np N [flags] command [arguments]\n\n");
        for (Flag flag : Flag.values()) {
            text.append(String.format(Locale.ROOT, "  %-42s %s%n", flag.spelling(), flag.meaning()));
        }
        return text.append("\nThese are the keys of a config file, by section: ")
                .append(keys())
                .append(".\n\nFlags stand before the command; everything from the command on belongs to it.\n")
                .append(
                        "The exit code is that of the process that failed first, or 128 plus the number of the signal that killed it.")
                .append(" It is 2 if nothing was started.\n")
                .toString();
    }

    private static String keys() {
        return ConfigFile.known().stream()
                .collect(Collectors.groupingBy(
                        key -> key.replaceFirst("\\..*", ""),
                        LinkedHashMap::new,
                        Collectors.mapping(key -> key.replaceFirst(".*\\.", ""), Collectors.joining(", "))))
                .entrySet()
                .stream()
                .map(section -> section.getKey() + " (" + section.getValue() + ")")
                .collect(Collectors.joining(", "));
    }
}
