package io.hvd.launch.options;

import io.hvd.file.TextFile;
import io.hvd.launch.words.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionEndEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * The little of YAML that a config file needs: sections with one value per line. Whatever could keep a reader busy or
 * overflow its stack is refused while the text is taken apart, before anything is made of it.
 */
final class PlainYaml {

    /** All flags that there are, with a page of comments, take less than a tenth of it. */
    private static final int MOST_BYTES = 1 << 16;

    private static final int MOST_DEPTH = 8;
    private static final int LONGEST_VALUE = 4096;
    private static final int LONGEST_MESSAGE = 300;

    private final Path file;
    private final LoadSettings settings;
    private int depth;

    private PlainYaml(Path file) {
        this.file = file;
        this.settings = LoadSettings.builder()
                .setLabel(file.toString())
                .setUseMarks(true)
                .build();
    }

    /** @throws UsageException if the file cannot be read, is no YAML, or has more in it than a config file needs */
    static Object read(Path file) {
        var yaml = new PlainYaml(file);
        String text = yaml.text();
        try {
            new Parse(yaml.settings).parseString(text).forEach(yaml::check);
            return new Load(yaml.settings).loadFromString(text);
        } catch (YamlEngineException e) {
            throw new UsageException(
                    "config-yaml",
                    "--config-file " + file + " is not YAML: "
                            + shortened(e.getMessage().replaceAll("\\s+", " "), LONGEST_MESSAGE));
        }
    }

    /** What is longer is cut, for a message. */
    static String shortened(String text, int most) {
        return text.length() <= most ? text : text.substring(0, most) + "...";
    }

    private String text() {
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MOST_BYTES + 1);
            if (bytes.length > MOST_BYTES) {
                throw refused("has more than " + MOST_BYTES
                        + " bytes, and no config file needs so many; is it the right file?");
            }
            return TextFile.visible(TextFile.decode(file, bytes));
        } catch (IOException e) {
            throw new UsageException("config-unreadable", "--config-file " + file + " cannot be read: " + e);
        }
    }

    private void check(Event event) {
        if (event instanceof AliasEvent) {
            throw refused("has an alias" + place(event) + "; write the value out, a config file has none that is long");
        }
        if (event instanceof ScalarEvent scalar && scalar.getValue().length() > LONGEST_VALUE) {
            throw refused("has a value of " + scalar.getValue().length() + " characters" + place(event)
                    + ", expected at most " + LONGEST_VALUE);
        }
        depth += event instanceof CollectionStartEvent ? 1 : event instanceof CollectionEndEvent ? -1 : 0;
        if (depth > MOST_DEPTH) {
            throw refused("is more than " + MOST_DEPTH + " levels deep" + place(event)
                    + ", expected sections with lines of the form name: value");
        }
    }

    private static String place(Event event) {
        return event.getStartMark()
                .map(mark -> " in line " + (mark.getLine() + 1))
                .orElse("");
    }

    private UsageException refused(String why) {
        return new UsageException("config-limit", "--config-file " + file + " " + why);
    }
}
