package io.hvd.examples.finetune;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.hvd.data.parquet.ParquetDataset;
import io.hvd.data.parquet.Row;
import io.hvd.error.HvdException;
import io.hvd.file.TextFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.commons.cli.ParseException;

/**
 * Reads texts from a file of the user's, by the end of its name: {@code .jsonl} with an object in each line, {@code .parquet} with a column
 * for each field, and else a table with tabs; or from a folder of files of short texts, with a line {@code %} between them, as those of
 * fortune(6). There a text's category is the file's name, and its second text is its second half.
 */
record TextFiles(Path data, Task task, Set<String> categories) {
    private static final int LEAST = 20;
    private static final int FEWEST_WORDS = 4;
    private static final String SEPARATOR = "%";

    /** @throws ParseException that names the file, and the line where a field is missing */
    List<TextSample> read() throws ParseException {
        List<TextSample> samples;
        try {
            samples = samples();
        } catch (IOException | HvdException e) {
            throw new ParseException(flag() + " cannot be read: " + e.getMessage());
        }
        long labels = samples.stream().map(TextSample::label).distinct().count();
        if (samples.size() < LEAST || task == Task.CLASSIFY && labels < 2) {
            throw new ParseException(flag() + " has " + samples.size() + " texts of " + labels
                    + " categories, expected at least " + LEAST + (task == Task.CLASSIFY ? " with 2" : ""));
        }
        return samples;
    }

    private String flag() {
        return "--data " + data;
    }

    private List<TextSample> samples() throws IOException, ParseException {
        if (Files.isDirectory(data)) {
            return folder();
        }
        if (!categories.isEmpty()) {
            throw new ParseException("--categories chooses files of a folder, and " + flag() + " is a file");
        }
        String name = data.getFileName().toString().toLowerCase(Locale.ROOT);
        return name.endsWith(".parquet") ? parquet() : name.endsWith(".jsonl") ? jsonLines() : table();
    }

    private List<TextSample> table() throws IOException, ParseException {
        List<TextSample> samples = new ArrayList<>();
        List<String> lines = TextFile.lines(data);
        for (int i = 0; i < lines.size(); i++) {
            if (!TextFile.clean(lines.get(i)).isEmpty()) {
                String[] columns = lines.get(i).split("\t", task.fields().size());
                Map<String, String> found = new HashMap<>();
                for (int column = 0; column < columns.length; column++) {
                    found.put(task.fields().get(column), columns[column]);
                }
                samples.add(sample(i + 1, lines.get(i), found));
            }
        }
        return samples;
    }

    private List<TextSample> jsonLines() throws IOException, ParseException {
        List<TextSample> samples = new ArrayList<>();
        List<String> lines = TextFile.lines(data);
        for (int i = 0; i < lines.size(); i++) {
            if (!TextFile.clean(lines.get(i)).isEmpty()) {
                samples.add(sample(i + 1, lines.get(i), object(lines.get(i))));
            }
        }
        return samples;
    }

    private static Map<String, String> object(String line) {
        Map<String, String> found = new HashMap<>();
        try {
            JsonObject object = JsonParser.parseString(line).getAsJsonObject();
            for (Map.Entry<String, JsonElement> field : object.entrySet()) {
                if (field.getValue().isJsonPrimitive()) {
                    found.put(field.getKey(), field.getValue().getAsString());
                }
            }
        } catch (JsonParseException | IllegalStateException e) {
            return Map.of(); // refused as a line without fields
        }
        return found;
    }

    private TextSample sample(int number, String line, Map<String, String> found) throws ParseException {
        for (String field : task.fields()) {
            if (TextFile.clean(found.getOrDefault(field, "")).isEmpty()) {
                throw new ParseException(flag() + ", line " + number + ": found \"" + TextFile.shown(line)
                        + "\", expected " + task.fields()
                        + (data.toString().endsWith(".jsonl") ? " in a JSON object" : " with a tab between them"));
            }
        }
        return new TextSample(
                TextFile.clean(found.getOrDefault("label", "")),
                TextFile.clean(found.getOrDefault("text", "")),
                TextFile.clean(found.getOrDefault("second", "")));
    }

    private List<TextSample> parquet() throws IOException, ParseException {
        List<TextSample> samples = new ArrayList<>();
        var rows = ParquetDataset.builder(List.of(data), this::fields)
                .columns(task.fields().toArray(String[]::new))
                .build();
        for (int i = 0; i < rows.size(); i++) {
            Map<String, String> row = row(rows, i);
            samples.add(sample(i + 1, row.toString(), row));
        }
        return samples;
    }

    private static <T> T row(ParquetDataset<T> rows, int index) throws IOException {
        try {
            return rows.get(index);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    private Map<String, String> fields(Row row) {
        Map<String, String> found = new HashMap<>();
        task.fields().stream()
                .filter(field -> !row.isNull(field))
                .forEach(field -> found.put(field, row.getString(field)));
        return found;
    }

    private List<TextSample> folder() throws IOException, ParseException {
        List<Path> files;
        try (Stream<Path> all = Files.list(data)) {
            files = all.filter(file -> Files.isRegularFile(file) && !name(file).contains("."))
                    .filter(file -> categories.isEmpty() || categories.contains(name(file)))
                    .sorted(Comparator.comparing(TextFiles::name))
                    .toList();
        }
        List<String> found = files.stream().map(TextFiles::name).toList();
        if (!found.containsAll(categories)) {
            throw new ParseException("--categories " + categories + ": " + flag() + " has only " + found + " of them");
        }
        List<TextSample> samples = new ArrayList<>();
        for (Path file : files) {
            StringBuilder text = new StringBuilder();
            for (String line : TextFile.lines(file)) {
                if (line.equals(SEPARATOR)) {
                    add(samples, name(file), text.toString());
                    text.setLength(0);
                } else {
                    text.append(line).append(' ');
                }
            }
            add(samples, name(file), text.toString());
        }
        return samples;
    }

    private static String name(Path file) {
        return file.getFileName().toString();
    }

    /** Texts of a few words are left out. */
    private void add(List<TextSample> samples, String label, String text) {
        String[] words = TextFile.clean(text).split("\\s+");
        if (words.length >= FEWEST_WORDS) {
            String whole = String.join(" ", words);
            int half = whole.lastIndexOf(' ', whole.length() / 2);
            samples.add(
                    task == Task.PAIRS && half > 0
                            ? new TextSample(label, whole.substring(0, half), whole.substring(half + 1))
                            : new TextSample(label, whole, ""));
        }
    }
}
