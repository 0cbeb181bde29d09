package io.hvd.data;

import java.util.OptionalInt;

/**
 * A batch could not be made: reading a sample or collating failed, or the wait for it was interrupted. It ends the
 * epoch. Thrown with the stack of the caller; the stack of the worker is that of the {@linkplain #getCause() cause}.
 */
public final class DataLoaderException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private static final int NO_SAMPLE = -1;

    private final int batch;
    private final int sampleIndex;

    private DataLoaderException(String message, int batch, int sampleIndex, Throwable cause) {
        super(message, cause);
        this.batch = batch;
        this.sampleIndex = sampleIndex;
    }

    static DataLoaderException reading(int sampleIndex, int batch, int place, Throwable cause) {
        String message =
                "reading sample " + sampleIndex + " (batch " + batch + ", place " + place + ") failed: " + cause;
        return new DataLoaderException(message, batch, sampleIndex, cause);
    }

    static DataLoaderException collating(int batch, int samples, Throwable cause) {
        String message = "collating the " + samples + " samples of batch " + batch + " failed: " + cause;
        return new DataLoaderException(message, batch, NO_SAMPLE, cause);
    }

    static DataLoaderException interrupted(int batch, InterruptedException cause) {
        return new DataLoaderException("interrupted while waiting for batch " + batch, batch, NO_SAMPLE, cause);
    }

    /** The failure of a worker, with the stack of the thread that calls this method. */
    static DataLoaderException onCallersThread(int batch, Throwable failure) {
        if (failure instanceof DataLoaderException known) {
            return new DataLoaderException(known.getMessage(), known.batch, known.sampleIndex, known.getCause());
        }
        return new DataLoaderException("making batch " + batch + " failed: " + failure, batch, NO_SAMPLE, failure);
    }

    /** The batch's place in the epoch, from 0. */
    public int batch() {
        return batch;
    }

    /**
     * The index, in the data set, of the sample that could not be read; empty where it was not one sample's failure.
     */
    public OptionalInt sampleIndex() {
        return sampleIndex == NO_SAMPLE ? OptionalInt.empty() : OptionalInt.of(sampleIndex);
    }
}
