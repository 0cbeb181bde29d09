package io.hvd.timeline;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.Strictness;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** A timeline as a reader sees it; what is no JSON throws. */
public record TraceFile(List<JsonObject> events) {
    public static TraceFile read(Path file) {
        try {
            return parse(Files.readString(file));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static TraceFile parse(String text) {
        JsonArray array;
        try {
            // Strict: JsonParser would forgive more than a viewer does.
            JsonReader reader = new JsonReader(new StringReader(text));
            reader.setStrictness(Strictness.STRICT);
            array = new Gson().getAdapter(JsonArray.class).read(reader);
            if (reader.peek() != JsonToken.END_DOCUMENT) {
                throw new AssertionError("something follows the array");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new TraceFile(StreamSupport.stream(array.spliterator(), false)
                .map(JsonElement::getAsJsonObject)
                .toList());
    }

    public Stream<JsonObject> named(String name) {
        return events.stream().filter(event -> string(event, "name").equals(name));
    }

    public List<String> names() {
        return events.stream().map(event -> string(event, "name")).distinct().toList();
    }

    /** The ranks of the events that are no metadata; a rank is its process less one. */
    public List<Integer> ranks() {
        return events.stream()
                .filter(event -> !string(event, "ph").equals("M"))
                .map(event -> event.get("pid").getAsInt() - 1)
                .distinct()
                .sorted()
                .toList();
    }

    public List<String> verdict() {
        return named("verdict")
                .map(event -> event.getAsJsonObject("args").get("text").getAsString())
                .toList();
    }

    /** The slices that lie in another one on some line, such as {@code MPI_ALLREDUCE in ALLREDUCE}. */
    public Set<String> nesting() {
        Set<String> nesting = new TreeSet<>();
        Map<Integer, Deque<String>> open = new HashMap<>();
        for (JsonObject event : events) {
            String phase = string(event, "ph");
            if (!List.of("B", "E", "X").contains(phase)) {
                continue;
            }
            Deque<String> line = open.computeIfAbsent(event.get("tid").getAsInt(), tid -> new ArrayDeque<>());
            if (phase.equals("E")) {
                if (!line.pop().equals(string(event, "name"))) {
                    throw new AssertionError("an end without its beginning: " + event);
                }
            } else {
                if (!line.isEmpty()) {
                    nesting.add(string(event, "name") + " in " + line.peek());
                }
                if (phase.equals("B")) {
                    line.push(string(event, "name"));
                }
            }
        }
        return nesting;
    }

    /** Time stamps of a line never run backwards. */
    public List<JsonObject> runningBackwards() {
        Map<Integer, Double> latest = new HashMap<>();
        List<JsonObject> wrong = new ArrayList<>();
        events.stream().filter(event -> event.has("ts") && event.has("tid")).forEach(event -> {
            double time = event.get("ts").getAsDouble();
            if (latest.merge(event.get("tid").getAsInt(), time, Math::max) > time) {
                wrong.add(event);
            }
        });
        return wrong;
    }

    static double micros(JsonObject event, String field) {
        return event.get(field).getAsDouble();
    }

    static String string(JsonObject event, String field) {
        return event.get(field).getAsString();
    }

    static Comparator<JsonObject> byTime() {
        return Comparator.comparingDouble(event -> micros(event, "ts"));
    }
}
