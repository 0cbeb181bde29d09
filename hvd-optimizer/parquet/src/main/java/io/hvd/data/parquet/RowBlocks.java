package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Which rows of which file each block of a data set holds. */
final class RowBlocks {
    private record Place(ParquetFile file, ParquetFile.Part part) {}

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
            throw ParquetFile.bad(
                    place.file.path(),
                    "brings the data set to " + ((long) before + rows) + " rows, expected at most " + Integer.MAX_VALUE,
                    null);
        }
        return before + rows;
    }

    static RowBlocks of(List<Path> paths, List<String> columns, int mostRows) {
        if (paths.isEmpty()) {
            throw new HvdException(ErrorId.BAD_ARGUMENT, "a Parquet data set of no files: expected at least 1");
        }
        List<Place> places = new ArrayList<>();
        ParquetFile first = ParquetFile.open(paths.get(0), columns);
        for (Path path : paths) {
            ParquetFile file = path.equals(first.path())
                    ? first
                    : ParquetFile.open(path, columns).requireColumnsOf(first);
            file.parts(mostRows).forEach(part -> places.add(new Place(file, part)));
        }
        return new RowBlocks(places);
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
