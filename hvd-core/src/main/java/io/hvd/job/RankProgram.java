package io.hvd.job;

/** The work of a rank that is a thread, between joining and leaving. */
@FunctionalInterface
public interface RankProgram<R> {
    /** On the rank's own thread, which does nothing else before or after. */
    R run(Membership membership) throws Exception;
}
