package io.hvd;

/** The program of each rank of {@link Hvd#spawn}. */
@FunctionalInterface
public interface RankBody<R> {
    R run(HvdContext hvd) throws Exception;
}
