package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.tensor.DType;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;

/** Records the class that the model found for every test image of this rank, and gathers those of all ranks. */
final class Predictions implements Consumer<BatchResult> {
    private static final int COLUMNS = 3;

    private final int[] indices;
    private final int[] table;
    private int noted;

    /** @param indices the indices of this rank's images, in the order in which they are evaluated */
    Predictions(int[] indices) {
        this.indices = indices;
        this.table = new int[COLUMNS * indices.length];
    }

    /** One image of the test set. */
    record Row(int index, int label, int predicted) {}

    @Override
    public void accept(BatchResult result) {
        for (int i = 0; i < result.samples(); i++) {
            int at = COLUMNS * noted;
            table[at] = indices[noted];
            table[at + 1] = Math.toIntExact(result.labels()[i]);
            table[at + 2] = result.scores().top(i);
            noted++;
        }
    }

    /** The rows of all images on every rank, each image once, in the data set's order; every rank calls it. */
    List<Row> ofAllRanks(HvdContext hvd) {
        Tensor mine = Tensor.wrap(table, DType.INT32, Shape.of(indices.length, COLUMNS));
        int[] all = (int[]) hvd.allgather("predictions", mine).toArray();
        List<Row> rows = new ArrayList<>();
        for (int at = 0; at < all.length; at += COLUMNS) {
            rows.add(new Row(all[at], all[at + 1], all[at + 2]));
        }
        rows.sort(Comparator.comparingInt(Row::index));
        return rows;
    }

    /** Writes the rows as comma-separated values with a header line. */
    static void write(List<Row> rows, Path file) throws IOException {
        List<String> lines = new ArrayList<>(List.of("index,label,predicted"));
        rows.forEach(row -> lines.add(row.index + "," + row.label + "," + row.predicted));
        ResultFile.write(file, String.join("\n", lines) + "\n");
    }
}
