package io.hvd.benchmarks.cost;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import io.hvd.file.TextFile;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Writes and reads a cost model as JSON. */
public final class ModelFile {
    private static final String FORMAT = "hvd-cost-model-1";

    private ModelFile() {}

    /** Writes the file, or replaces it if it exists; the file is always complete. */
    public static void write(CostModel model, Path file) throws IOException {
        WholeFile.write(file, text(model).getBytes(StandardCharsets.UTF_8));
    }

    /** @throws io.hvd.error.HvdException naming the field that is wrong, what was found and what was expected */
    public static CostModel read(Path file) throws IOException {
        return parse(file.toString(), TextFile.read(file));
    }

    static String text(CostModel model) {
        JsonObject root = new JsonObject();
        root.addProperty("format", FORMAT);
        root.addProperty("calibratedOn", model.host().description());
        root.addProperty("cores", model.host().cores());
        root.addProperty("coresShared", model.host().coresShared());
        root.addProperty("gammaSecondsPerByte", model.host().gammaSecondsPerByte());
        JsonObject algorithms = new JsonObject();
        model.curves().forEach((algorithm, curve) -> algorithms.add(algorithm.word(), curve(curve)));
        root.add("algorithms", algorithms);
        return new GsonBuilder().setPrettyPrinting().create().toJson(root) + "\n";
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

    /** @param name the file's name, for messages */
    static CostModel parse(String name, String text) {
        ModelField root = ModelField.of(name, tree(name, text));
        root.field("format").oneOf(List.of(FORMAT));
        CalibrationHost host = new CalibrationHost(
                root.field("calibratedOn").text(),
                (int) root.field("cores").wholeNumber(1, Integer.MAX_VALUE),
                root.field("coresShared").truth(),
                root.field("gammaSecondsPerByte").cost());
        Map<Algorithm, Curve> curves = new EnumMap<>(Algorithm.class);
        ModelField algorithms = root.field("algorithms");
        for (String word : algorithms.names()) {
            Algorithm algorithm = Algorithm.named(word)
                    .orElseThrow(() -> algorithms.bad(
                            "the algorithm \"" + word + "\"", "one of " + String.join(", ", Algorithm.words())));
            curves.put(algorithm, curve(algorithm, algorithms.field(word)));
        }
        return new CostModel(host, curves);
    }

    private static JsonElement tree(String name, String text) {
        try {
            return JsonParser.parseString(text);
        } catch (JsonParseException e) {
            throw ModelField.of(name, new JsonPrimitive("")).bad("no JSON: " + e.getMessage(), "a JSON object");
        }
    }

    private static Curve curve(Algorithm algorithm, ModelField written) {
        Set<JobShape> seen = new LinkedHashSet<>();
        for (ModelField shape : written.field("ranksByHosts").elements()) {
            seen.add(shape.jobShape());
        }
        List<Piece> pieces = new ArrayList<>();
        long before = 0;
        for (ModelField piece : written.field("pieces").elements()) {
            pieces.add(piece(piece, before));
            before = pieces.get(pieces.size() - 1).upToBytes();
        }
        if (before != Long.MAX_VALUE) {
            throw written.field("pieces").bad("pieces up to " + before, "a last one up to " + Long.MAX_VALUE);
        }
        return new Curve(algorithm, seen, pieces);
    }

    private static Piece piece(ModelField written, long before) {
        String form = written.field("form").oneOf(List.of(Form.FEW_BYTES.name(), Form.MANY_BYTES.name()));
        return new Piece(
                Form.valueOf(form),
                written.field("upToBytes").wholeNumber(before, Long.MAX_VALUE),
                new Link(
                        written.field("insideAlphaSeconds").cost(),
                        written.field("insideBetaSecondsPerByte").cost()),
                written.field("crowdedSeconds").cost(),
                new Link(
                        written.field("betweenAlphaSeconds").cost(),
                        written.field("betweenBetaSecondsPerByte").cost()));
    }
}
