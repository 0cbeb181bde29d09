package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Which rows of which file each block of a data set holds. */
final class RowBlocks {
    private record Place(RowFile file, RowFile.Part part) {}

    private final List<Place> places;
    /** The first row of each block, and behind the last one the number of all rows. */
    private final int[] firsts;

    private RowBlocks(List<Place> places) {
        this.places = places;
        firsts = new int[places.size() + 1];
        for (int block = 0; block < places.size(); block++) {
            firsts[block + 1] =
                    Math.addExact(firsts[block], places.get(block).part.rows());
        }
    }

    private static int sum(Place place, int before, int rows) {
        if (rows > Integer.MAX_VALUE - before) {
            throw RowFile.bad(
                    place.file.path(),
                    "brings the data set to " + ((long) before + rows) + " rows, expected at most " + Integer.MAX_VALUE,
                    null);
        }
        return before + rows;
    }

    static RowBlocks of(RowFile.Format format, List<Path> paths, List<String> columns, int mostRows) {
        if (paths.isEmpty()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "a data set of no files: expected at least 1");
        }
        List<Place> places = new ArrayList<>();
        RowFile first = format.open(paths.get(0), columns);
        for (Path path : paths) {
            RowFile file = path.equals(first.path()) ? first : format.open(path, columns);
            requireColumnsOf(first, file);
            file.parts(mostRows).forEach(part -> places.add(new Place(file, part)));
        }
        return new RowBlocks(places);
    }

    /** In any order. */
    private static void requireColumnsOf(RowFile first, RowFile file) {
        Map<String, ?> expected = first.columns();
        Map<String, ?> found = file.columns();
        Set<String> names = new LinkedHashSet<>(expected.keySet());
        names.addAll(found.keySet());
        names.stream()
                .filter(name -> !Objects.equals(found.get(name), expected.get(name)))
                .forEach(name -> {
                    String fact = "has other columns than " + first.path() + ": \"" + name + "\" is ";
                    throw RowFile.bad(
                            file.path(),
                            fact + words(found.get(name)) + ", expected " + words(expected.get(name)),
                            null);
                });
    }

    private static String words(Object type) {
        return type == null ? "not there" : "\"" + type + "\"";
    }

    int count() {
        return places.size();
    }

    int rows() {
        return firsts[count()];
    }

    /** The index of a block's first row in the data set; of the number of blocks, that of all rows. */
    int first(int block) {
        return firsts[block];
    }

    int[] firsts() {
        return firsts.clone();
    }

    /** The block with this row. */
    int holding(int row) {
        int found = Arrays.binarySearch(firsts, row);
        return found >= 0 ? found : -found - 2;
    }

    RowBlock read(int block) {
        Place place = places.get(block);
        return place.file.read(place.part);
    }
}
