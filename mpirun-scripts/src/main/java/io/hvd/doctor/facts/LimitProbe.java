package io.hvd.doctor.facts;

import io.hvd.doctor.facts.Facts.Limits;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The limits of this process, which the ranks have too; those that a process can raise itself, a JVM has raised. */
final class LimitProbe {

    private final Path root;

    LimitProbe(Path root) {
        this.root = root;
    }

    Limits limits(int cores, String fabric) {
        String table = table();
        return new Limits(
                limit(table, "Max open files"),
                limit(table, "Max processes"),
                limit(table, "Max locked memory"),
                cores,
                fabric);
    }

    private static long limit(String table, String name) {
        Matcher row = Pattern.compile("(?m)^" + name + "\\s+(\\d{1,18})\\s").matcher(table);
        return row.find() ? Long.parseLong(row.group(1)) : -1;
    }

    private String table() {
        try {
            return Files.readString(root.resolve("proc/self/limits"));
        } catch (IOException e) {
            return "";
        }
    }
}
