package io.hvd.report;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.hvd.file.RegularFile;
import io.hvd.file.TextFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads {@code scalars.jsonl}. A run that was killed may have left half a line at its end, which does not count. */
record ScalarFile(Path file) {
    List<ChartCurve> read() throws ReportException {
        String text = text();
        String[] lines = text.substring(0, text.lastIndexOf('\n') + 1).split("\n");
        Map<String, List<ChartCurve.Point>> byTag = new LinkedHashMap<>();
        for (int i = 0; i < lines.length; i++) {
            if (!lines[i].isBlank()) {
                add(lines[i], i + 1, byTag);
            }
        }
        List<ChartCurve> curves = new ArrayList<>();
        byTag.forEach((tag, points) -> curves.add(new ChartCurve(tag, points)));
        return curves;
    }

    private String text() throws ReportException {
        try {
            return TextFile.read(RegularFile.at(file));
        } catch (IOException e) {
            throw new ReportException(file + " cannot be read: " + e);
        }
    }

    private void add(String line, int number, Map<String, List<ChartCurve.Point>> byTag) throws ReportException {
        JsonObject scalar;
        try {
            scalar = JsonParser.parseString(line).getAsJsonObject();
        } catch (JsonParseException | IllegalStateException e) {
            throw new ReportException(file + ", line " + number + ": expected an object of JSON, found " + line
                    + (number == 1 ? RegularFile.inWords(file) : ""));
        }
        for (String field : List.of("step", "tag", "value")) {
            if (!scalar.has(field) || !scalar.get(field).isJsonPrimitive()) {
                throw new ReportException(file + ", line " + number + ": there is no field " + field + " with a value");
            }
        }
        try {
            byTag.computeIfAbsent(scalar.get("tag").getAsString(), tag -> new ArrayList<>())
                    .add(new ChartCurve.Point(
                            scalar.get("step").getAsLong(),
                            Double.parseDouble(scalar.get("value").getAsString())));
        } catch (NumberFormatException e) {
            throw new ReportException(file + ", line " + number + ": step and value are to be numbers, found " + line);
        }
    }
}
