package io.hvd.launch.options;

import io.hvd.config.Suggestion;
import io.hvd.launch.words.UsageException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** The file of {@code --config-file}: flags written as YAML, by sections; each key stands for a flag. */
final class ConfigFile {

    private static final String OFF = "!";
    private static final int LONGEST_SHOWN = 80;
    private static final Map<String, Flag> KEYS = keys();

    private final Path file;
    private final List<FlagValue> given = new ArrayList<>();

    private ConfigFile(Path file) {
        this.file = file;
    }

    /** @throws UsageException if it cannot be read, or says something that is no flag */
    static List<FlagValue> read(Path file) {
        var config = new ConfigFile(file);
        config.sections();
        return config.given;
    }

    /** All keys, as in {@code params.cycle_time_ms}. */
    static Collection<String> known() {
        return KEYS.keySet().stream().filter(key -> !key.startsWith(OFF)).toList();
    }

    private static Map<String, Flag> keys() {
        Map<String, Flag> keys = new LinkedHashMap<>();
        for (Flag flag : Flag.values()) {
            flag.key().ifPresent(key -> keys.put(key, flag));
        }
        return keys;
    }

    private void sections() {
        Object document = PlainYaml.read(file);
        if (document == null) {
            return;
        }
        map(document, "the file").forEach((section, content) -> {
            checkSection(section);
            if (content != null) {
                map(content, "section \"" + section + "\"").forEach((name, value) -> add(section + "." + name, value));
            }
        });
    }

    private Map<String, Object> map(Object value, String where) {
        if (!(value instanceof Map<?, ?> map)) {
            throw new UsageException(
                    "config-form",
                    "--config-file " + file + ": " + where + " is \"" + shown(value)
                            + "\", expected sections with lines of the form name: value");
        }
        Map<String, Object> named = new LinkedHashMap<>();
        map.forEach((key, content) -> named.put(String.valueOf(key), content));
        return named;
    }

    private void checkSection(String section) {
        var sections = new TreeSet<String>();
        known().forEach(key -> sections.add(key.replaceFirst("\\..*", "")));
        if (!sections.contains(section)) {
            throw unknown("section \"" + section + "\"", section, sections);
        }
    }

    private void add(String key, Object value) {
        if (!KEYS.containsKey(key)) {
            throw unknown("\"" + key + "\"", key, known());
        }
        String origin = file + ": " + key;
        Flag flag = KEYS.get(key);
        if (value == null) {
            return;
        }
        if (flag.takesValue()) {
            given.add(new FlagValue(flag, scalar(origin, value), origin));
        } else if (on(origin, value)) {
            given.add(new FlagValue(flag, "", origin));
        } else {
            given.add(new FlagValue(KEYS.get(OFF + key), "", origin));
        }
    }

    private UsageException unknown(String what, String word, Collection<String> known) {
        return new UsageException(
                "config-unknown",
                "--config-file " + file + ": there is no " + PlainYaml.shortened(what, LONGEST_SHOWN)
                        + Suggestion.nearest(word, known)
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("; there are " + String.join(", ", known)));
    }

    private static String scalar(String origin, Object value) {
        if (value instanceof Map || value instanceof Collection) {
            throw new UsageException("config-form", origin + " is \"" + shown(value) + "\", expected one value");
        }
        return String.valueOf(value);
    }

    private static String shown(Object value) {
        return PlainYaml.shortened(String.valueOf(value), LONGEST_SHOWN);
    }

    private static boolean on(String origin, Object value) {
        if (value instanceof Boolean on) {
            return on;
        }
        throw new UsageException("config-form", origin + " is \"" + shown(value) + "\", expected true or false");
    }
}
