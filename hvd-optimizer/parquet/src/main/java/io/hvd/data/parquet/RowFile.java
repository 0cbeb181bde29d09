package io.hvd.data.parquet;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A file of rows whose description has been read. It is open only while rows of it are read. */
interface RowFile {
    /** Opens files of one format. */
    interface Format {
        /** @param names of columns; all if there are none */
        RowFile open(Path path, List<String> names);
    }

    /** Rows that are decoded together. @param first within the group @param firstOfFile of the same row, in the file */
    record Part(int group, long first, int rows, long firstOfFile) {}

    Path path();

    /** The types of the columns that are read, in the file's order. */
    Map<String, ?> columns();

    /** @param mostRows of a part, where the format lets a group of rows be divided */
    List<Part> parts(int mostRows);

    RowBlock read(Part part);

    static void requireColumns(Path path, List<String> names, List<String> found) {
        names.stream().filter(name -> !found.contains(name)).forEach(name -> {
            throw bad(path, "has no column \"" + name + "\", expected one of " + found, null);
        });
    }

    static HvdException bad(Path path, String fact, Throwable cause) {
        return new HvdException(ErrorId.BAD_DATA_SET, path + " " + fact, cause);
    }
}
