package io.hvd.train.log;

import java.io.IOException;
import java.util.List;

/** A file of scalars. What {@link #add} has returned from is in the file, even if the process is killed afterwards. */
sealed interface ScalarSink extends AutoCloseable permits EventFile, LineFile {
    void add(List<Scalar> scalars) throws IOException;

    /** Leaves out what was written of later steps. */
    void goOnAfter(long lastStep, double seconds) throws IOException;

    @Override
    void close() throws IOException;
}
