package io.hvd.benchmarks.cost;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A cost model as JSON, for people and other programs, and for predictions later. */
public final class ModelFile {
    private static final String FORMAT = "hvd-cost-model-2";

    private ModelFile() {}

    /** Writes the file, or replaces it if it exists; the file is always complete. */
    public static void write(CostModel model, Path file) throws IOException {
        WholeFile.write(file, text(model).getBytes(StandardCharsets.UTF_8));
    }

    static String text(CostModel model) {
        JsonObject root = new JsonObject();
        root.addProperty("format", FORMAT);
        root.addProperty("calibratedOn", model.host().description());
        root.addProperty("cores", model.host().cores());
        root.addProperty("coresShared", model.host().coresShared());
        root.addProperty("gammaSecondsPerByte", model.host().gammaSecondsPerByte());
        double link = model.host().linkBytesPerSecond();
        root.addProperty("linkBytesPerSecond", Double.isInfinite(link) ? null : link);
        JsonObject algorithms = new JsonObject();
        model.curves().forEach((algorithm, curve) -> algorithms.add(algorithm.word(), curve(curve)));
        root.add("algorithms", algorithms);
        return new GsonBuilder().setPrettyPrinting().serializeNulls().create().toJson(root) + "\n";
    }

    /**
     * Reads a file that {@link #write} has written.
     *
     * @throws HvdException if it is none
     */
    public static CostModel read(Path file) throws IOException {
        if (!Files.isReadable(file)) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "there is no model at " + file + " that can be read");
        }
        String text = Files.readString(file);
        try {
            JsonObject root = JsonParser.parseString(text).getAsJsonObject();
            String format = root.get("format").getAsString();
            if (!format.equals(FORMAT)) {
                throw new JsonParseException("its format is " + format);
            }
            Map<Algorithm, Curve> curves = new EnumMap<>(Algorithm.class);
            root.getAsJsonObject("algorithms").asMap().forEach((word, curve) -> {
                Algorithm algorithm = Algorithm.of(word);
                curves.put(algorithm, curve(algorithm, curve.getAsJsonObject()));
            });
            return new CostModel(host(root), curves);
        } catch (JsonParseException | IllegalStateException | IllegalArgumentException | NullPointerException e) {
            throw new HvdException(
                    ErrorId.BAD_ARGUMENT,
                    file + " is no model, expected a file of the format " + FORMAT + ", as --out of bench-model.sh"
                            + " writes it: " + e.getMessage(),
                    e);
        }
    }

    private static CalibrationHost host(JsonObject root) {
        JsonElement link = root.get("linkBytesPerSecond");
        return new CalibrationHost(
                root.get("calibratedOn").getAsString(),
                root.get("cores").getAsInt(),
                root.get("coresShared").getAsBoolean(),
                root.get("gammaSecondsPerByte").getAsDouble(),
                link.isJsonNull() ? Double.POSITIVE_INFINITY : link.getAsDouble());
    }

    private static Curve curve(Algorithm algorithm, JsonObject written) {
        Set<JobShape> seen = new HashSet<>();
        written.getAsJsonArray("ranksByHosts").forEach(shape -> seen.add(JobShape.of(shape.getAsString())));
        List<Piece> pieces = new ArrayList<>();
        written.getAsJsonArray("pieces").forEach(piece -> pieces.add(piece(piece.getAsJsonObject())));
        return new Curve(algorithm, seen, pieces);
    }

    private static Piece piece(JsonObject written) {
        return new Piece(
                Form.valueOf(written.get("form").getAsString()),
                written.get("upToBytes").getAsLong(),
                new Link(
                        written.get("insideAlphaSeconds").getAsDouble(),
                        written.get("insideBetaSecondsPerByte").getAsDouble()),
                written.get("crowdedSeconds").getAsDouble(),
                new Link(
                        written.get("betweenAlphaSeconds").getAsDouble(),
                        written.get("betweenBetaSecondsPerByte").getAsDouble()));
    }

    private static JsonObject curve(Curve curve) {
        JsonArray seen = new JsonArray();
        curve.seen().stream().map(JobShape::toString).sorted().forEach(seen::add);
        JsonArray pieces = new JsonArray();
        curve.pieces().forEach(piece -> pieces.add(piece(piece)));
        JsonObject written = new JsonObject();
        written.add("ranksByHosts", seen);
        written.add("pieces", pieces);
        return written;
    }

    private static JsonObject piece(Piece piece) {
        JsonObject written = new JsonObject();
        written.addProperty("form", piece.form().name());
        written.addProperty("upToBytes", piece.upToBytes());
        written.addProperty("insideAlphaSeconds", piece.inside().alphaSeconds());
        written.addProperty("insideBetaSecondsPerByte", piece.inside().betaSecondsPerByte());
        written.addProperty("crowdedSeconds", piece.crowdedSeconds());
        written.addProperty("betweenAlphaSeconds", piece.between().alphaSeconds());
        written.addProperty("betweenBetaSecondsPerByte", piece.between().betaSecondsPerByte());
        return written;
    }
}
