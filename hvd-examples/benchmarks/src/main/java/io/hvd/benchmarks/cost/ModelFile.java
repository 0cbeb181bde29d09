package io.hvd.benchmarks.cost;

import com.google.gson.GsonBuilder;
import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;

/** Writes a cost model as JSON, for people and other programs. */
public final class ModelFile {
    private static final String FORMAT = "hvd-cost-model-1";

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
}
