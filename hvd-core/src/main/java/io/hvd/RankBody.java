package io.hvd;

/** What one rank of {@link Hvd#spawn} does. */
@FunctionalInterface
public interface RankBody<R> {
    R run(HvdContext hvd) throws Exception;
}
