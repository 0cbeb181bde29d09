package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.commons.cli.ParseException;

/** The files that rank 0 is going to write, checked before the work whose results they are to hold. */
final class OutputFiles {
    private final Map<String, Path> files = new TreeMap<>();

    /** Adds the file of a flag, if it is given. */
    OutputFiles with(String flag, Optional<Path> file) {
        file.ifPresent(path -> files.put(flag, path));
        return this;
    }

    /**
     * Rank 0 looks and all ranks learn the outcome; every rank calls it.
     *
     * @throws ParseException on every rank, if a file could not be written
     */
    void require(HvdContext hvd) throws ParseException {
        String mine = hvd.rank() == 0 ? mistake() : "";
        String mistake = hvd.broadcastObject("output_files", mine, ObjectCodec.utf8(), 0);
        if (!mistake.isEmpty()) {
            throw new ParseException(mistake);
        }
    }

    private String mistake() {
        for (Map.Entry<String, Path> entry : files.entrySet()) {
            Path file = entry.getValue().toAbsolutePath();
            String start = "--" + entry.getKey() + " " + entry.getValue() + ": ";
            if (Files.isDirectory(file)) {
                return start + "this is a folder, expected the name of a file";
            }
            if (!Files.isDirectory(file.getParent())) {
                return start + "there is no folder " + file.getParent() + " on the host of rank 0; make it first";
            }
            if (!Files.isWritable(file.getParent())) {
                return start + "rank 0 may not write into " + file.getParent();
            }
        }
        return "";
    }
}
