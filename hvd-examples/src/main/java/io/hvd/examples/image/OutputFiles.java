package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.file.WholeFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.ParseException;

/** The files that rank 0 is going to write. It tries to write them before the training begins. */
public final class OutputFiles {
    private final List<Output> outputs = new ArrayList<>();

    /** @param text whether the file may also be a device */
    private record Output(String flag, Path file, boolean text) {
        String mistake() {
            String obstacle = obstacle(file.toAbsolutePath());
            return obstacle.isEmpty() ? "" : "--" + flag + " " + file + ": " + obstacle;
        }

        private String obstacle(Path absolute) {
            if (Files.isDirectory(absolute)) {
                return "this is a folder, expected the name of a file";
            }
            if (!Files.isDirectory(absolute.getParent())) {
                return "there is no folder " + absolute.getParent() + " on the host of rank 0; make it first";
            }
            try {
                if (!text || !ResultFile.isDevice(absolute)) {
                    WholeFile.requireWritable(absolute);
                }
                return "";
            } catch (IOException e) {
                return "rank 0 has tried: " + e.getMessage();
            }
        }
    }

    /** Adds the file of a flag, if it is given. */
    public OutputFiles with(String flag, Optional<Path> file) {
        file.ifPresent(path -> outputs.add(new Output(flag, path, false)));
        return this;
    }

    /** Adds a text file, which may also be a device. */
    public OutputFiles withText(String flag, Optional<Path> file) {
        file.ifPresent(path -> outputs.add(new Output(flag, path, true)));
        return this;
    }

    /**
     * Checks the files on rank 0, which tells all ranks the result; every rank calls it.
     *
     * @throws ParseException on every rank, if a file cannot be written
     */
    public void require(HvdContext hvd) throws ParseException {
        String mine = hvd.rank() == 0 ? mistake() : "";
        String mistake = hvd.broadcastObject("output_files", mine, ObjectCodec.utf8(), 0);
        if (!mistake.isEmpty()) {
            throw new ParseException(mistake);
        }
    }

    private String mistake() {
        return outputs.stream()
                .map(Output::mistake)
                .filter(mistake -> !mistake.isEmpty())
                .findFirst()
                .orElse("");
    }
}
