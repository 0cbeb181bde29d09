package io.hvd.train.safetensors;

/** Requires that the tensors fill a file without gaps and without overlaps, before any memory is made for them. */
final class TensorPlaces {
    private TensorPlaces() {}

    static void require(CheckpointHeader header, long dataBegins, long fileBytes) throws DamagedCheckpoint {
        long dataBytes = fileBytes - dataBegins;
        long at = 0;
        for (CheckpointHeader.Entry entry : header.entries()) {
            if (entry.from() != at) {
                throw new DamagedCheckpoint("tensor \"" + entry.name() + "\" begins at byte " + entry.from()
                        + " of the data, expected " + at + ", where the one before ends");
            }
            at = entry.to();
        }
        if (at != dataBytes) {
            throw new DamagedCheckpoint("its tensors have " + at + " bytes, the file holds " + dataBytes
                    + " bytes for them" + missing(header, dataBegins, dataBytes));
        }
    }

    private static String missing(CheckpointHeader header, long dataBegins, long dataBytes) {
        return header.entries().stream()
                .filter(entry -> entry.to() > dataBytes)
                .findFirst()
                .map(entry -> ": its end is missing, from byte " + (dataBegins + dataBytes) + " to "
                        + (dataBegins + header.dataBytes()) + " of the file, which begins in tensor \"" + entry.name()
                        + "\"")
                .orElse("");
    }
}
