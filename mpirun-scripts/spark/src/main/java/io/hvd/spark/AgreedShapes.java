package io.hvd.spark;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.spark.columns.RowLayout;
import io.hvd.tensor.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Compares the shapes of the ranks' values, which each rank has seen in its own rows alone. */
final class AgreedShapes {
    /** From a rank without rows. */
    private static final String NONE = "none";

    private AgreedShapes() {}

    /**
     * The layout of all ranks; a collective.
     *
     * @throws HvdException with {@link ErrorId#BAD_DATA_SET} on all ranks if they differ, or no rank has a row
     */
    static RowLayout of(HvdContext hvd, Spill spill) {
        List<String> all = hvd.allgatherObject(
                "hvd.spark.shapes",
                spill.layout().map(layout -> words(layout.shapes())).orElse(NONE),
                ObjectCodec.utf8());
        int first = 0;
        while (first < all.size() && all.get(first).equals(NONE)) {
            first++;
        }
        if (first == all.size()) {
            throw new HvdException(
                    ErrorId.BAD_DATA_SET, "the DataFrame has no row for any of " + all.size() + " ranks");
        }
        List<Shape> shapes = shapes(all.get(first));
        for (int rank = first + 1; rank < all.size(); rank++) {
            if (!all.get(rank).equals(NONE)) {
                requireSame(spill.columns().names(), shapes, first, shapes(all.get(rank)), rank);
            }
        }
        return spill.columns().layout(shapes);
    }

    private static void requireSame(List<String> names, List<Shape> one, int rank, List<Shape> other, int otherRank) {
        for (int i = 0; i < names.size(); i++) {
            if (!one.get(i).equals(other.get(i))) {
                throw new HvdException(
                        ErrorId.BAD_DATA_SET,
                        "column \"" + names.get(i) + "\" has values of the shape " + one.get(i) + " on rank " + rank
                                + " and of " + other.get(i) + " on rank " + otherRank
                                + ", expected the same in all rows");
            }
        }
    }

    private static String words(List<Shape> shapes) {
        return shapes.stream()
                .map(shape ->
                        LongStream.of(shape.toArray()).mapToObj(String::valueOf).collect(Collectors.joining(",")))
                .collect(Collectors.joining(";"));
    }

    private static List<Shape> shapes(String words) {
        List<Shape> shapes = new ArrayList<>();
        for (String dims : words.split(";", -1)) {
            shapes.add(Shape.of(Stream.of(dims.split(","))
                    .filter(dim -> !dim.isEmpty())
                    .mapToLong(Long::parseLong)
                    .toArray()));
        }
        return shapes;
    }
}
