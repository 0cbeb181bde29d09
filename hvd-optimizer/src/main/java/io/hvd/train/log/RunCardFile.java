package io.hvd.train.log;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonParseException;
import com.google.gson.JsonPrimitive;
import com.google.gson.JsonSerializer;
import io.hvd.file.RegularFile;
import io.hvd.file.TextFile;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;

/** The file {@code run.json} of a run's folder; always complete. */
record RunCardFile(Path file) {
    /** JSON has no NaN; a text such as {@code "NaN"} stands for it, and Gson reads that as a number again. */
    private static final JsonSerializer<Double> NUMBER_OR_WORD = (value, type, context) ->
            Double.isFinite(value) ? new JsonPrimitive(value) : new JsonPrimitive(value.toString());

    private static Gson gson() {
        return new GsonBuilder()
                .disableHtmlEscaping()
                .setPrettyPrinting()
                .registerTypeAdapter(Double.class, NUMBER_OR_WORD)
                .registerTypeAdapter(double.class, NUMBER_OR_WORD)
                .create();
    }

    static RunCardFile in(Path folder) {
        return new RunCardFile(folder.resolve("run.json"));
    }

    boolean exists() {
        return Files.exists(file);
    }

    void write(RunCard card) throws IOException {
        WholeFile.write(file, (gson().toJson(card) + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** @throws FileSystemException that names the file, if this is no run card of this form */
    RunCard read() throws IOException {
        try {
            RunCard card = gson().fromJson(TextFile.read(RegularFile.at(file)), RunCard.class);
            if (card != null && card.format() == RunCard.FORMAT && card.starts() != null && card.epochs() != null) {
                return card;
            }
            throw new FileSystemException(file.toString(), null, "this is no run card of format " + RunCard.FORMAT);
        } catch (JsonParseException e) {
            throw new FileSystemException(file.toString(), null, "this is no run card: " + e.getMessage());
        }
    }
}
