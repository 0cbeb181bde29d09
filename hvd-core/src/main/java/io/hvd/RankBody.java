package io.hvd;

/** The program of each rank of {@link Hvd#spawn}. */
@FunctionalInterface
public interface RankBody<R> {
    /** Runs the program of one rank, whose context ends when this returns or throws. */
    R run(HvdContext hvd) throws Exception;
}
