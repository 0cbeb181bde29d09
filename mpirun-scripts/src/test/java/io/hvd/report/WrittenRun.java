package io.hvd.report;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A run with two epochs of ten steps, in a folder as {@code RunLog} writes it. */
record WrittenRun(Path folder, int ranks) {
    WrittenRun write() throws IOException {
        Files.createDirectories(folder);
        Files.writeString(folder.resolve("run.json"), card().toString());
        Files.writeString(
                folder.resolve("scalars.jsonl"),
                scalar(10, "test loss", "0.5")
                        + scalar(10, "accuracy", "0.75")
                        + scalar(10, "lr", "0.1")
                        + scalar(10, "peak memory in MiB/rank 0", "100")
                        + scalar(20, "test loss", "\"NaN\"")
                        + scalar(20, "accuracy", "0.875"));
        return this;
    }

    static String scalar(int step, String tag, String value) {
        return "{\"time\":1.5,\"step\":" + step + ",\"tag\":\"" + tag + "\",\"value\":" + value + "}\n";
    }

    /** Changes the card. */
    WrittenRun with(String from, String to) throws IOException {
        String card = Files.readString(folder.resolve("run.json"));
        if (!card.contains(from)) {
            throw new IllegalArgumentException(card + " does not contain " + from);
        }
        Files.writeString(folder.resolve("run.json"), card.replace(from, to));
        return this;
    }

    private JsonObject card() {
        JsonObject card = new JsonObject();
        card.addProperty("format", 1);
        card.addProperty("program", "digits");
        card.addProperty("command", "train.jar digits");
        card.add("starts", new JsonArray());
        card.getAsJsonArray("starts").add("2026-01-02T03:04:05Z");
        card.addProperty("written", "2026-01-02T03:05:06.789012Z");
        card.add("exit", object("state", "finished"));
        card.add("versions", object("Java", "17"));
        card.add("parameters", object("lr", "0.1"));
        card.add("settings", new JsonArray());
        card.add("ranks", new JsonArray());
        for (int rank = 0; rank < ranks; rank++) {
            JsonObject row = object("host", "h" + rank / 2);
            row.addProperty("rank", rank);
            row.addProperty("pid", 100 + rank);
            row.addProperty("device", "");
            row.add("total", figures(rank, 20));
            card.getAsJsonArray("ranks").add(row);
        }
        card.add("epochs", new JsonArray());
        card.getAsJsonArray("epochs").add(epoch(1));
        card.getAsJsonArray("epochs").add(epoch(2));
        card.add("warnings", new JsonArray());
        return card;
    }

    private JsonObject epoch(int number) {
        JsonObject epoch = new JsonObject();
        epoch.addProperty("epoch", number);
        epoch.addProperty("step", 10 * number);
        epoch.add("metrics", object("test loss", number == 1 ? "0.5" : "NaN"));
        epoch.add("ranks", new JsonArray());
        for (int rank = 0; rank < ranks; rank++) {
            epoch.getAsJsonArray("ranks").add(figures(rank, 10));
        }
        return epoch;
    }

    /** In each step a rank takes 100 ms, of which it waits 10 ms for data and 20 ms for gradients. */
    private static JsonObject figures(int rank, int steps) {
        JsonObject figures = new JsonObject();
        figures.addProperty("rank", rank);
        figures.addProperty("steps", steps);
        figures.addProperty("samples", steps * 8 * (rank + 1));
        figures.addProperty("stepSeconds", steps * 0.1);
        figures.addProperty("dataWaitSeconds", steps * 0.01);
        figures.addProperty("exchangeSeconds", steps * 0.02);
        figures.addProperty("peakMemoryMib", 100 + rank);
        return figures;
    }

    private static JsonObject object(String name, String value) {
        JsonObject object = new JsonObject();
        object.addProperty(name, value);
        return object;
    }
}
