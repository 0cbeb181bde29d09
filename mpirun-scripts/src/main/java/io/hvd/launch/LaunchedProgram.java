package io.hvd.launch;

import io.hvd.HvdContext;
import io.hvd.ObjectCodec;

/**
 * A program that {@link HvdLauncher} runs on every rank, and whose results it brings back. The class is public and has
 * a public constructor without parameters, by which every rank makes an object of its own.
 *
 * @param <R> what a rank hands back
 */
public interface LaunchedProgram<R> {

    /**
     * The program; called once on every rank, on the main thread of its process.
     *
     * @param hvd open; closed by the caller
     * @return not null
     */
    R run(HvdContext hvd, String... args) throws Exception;

    /** The form in which a result travels to the launcher; up to a gigabyte per rank. */
    ObjectCodec<R> codec();
}
