package io.hvd.engine.tuning;

import io.hvd.engine.message.Tunable;
import io.hvd.engine.submission.PendingOp;
import java.util.List;
import java.util.Optional;

/**
 * Proposes how a static plan's step should be cut into batches. Rank 0 watches the steps ({@link StudiedCuts}), and the
 * others follow it ({@link NoCutAdvice}). Only the thread that has the data plane calls it, except where a method says
 * otherwise.
 */
public interface CutAdvice {
    /** A static plan begins. */
    void begin(List<List<String>> batches);

    /** The ranks negotiate again. */
    void end();

    /**
     * A batch of the plan has been carried out.
     *
     * @param begun the time in nanoseconds
     * @param plan the names of all operations, batch by batch
     */
    void ran(List<PendingOp> ops, long begun, List<List<String>> plan);

    /** The last batch of a step has been carried out. @param bytes the number of bytes that the step reduces */
    void endStep(long bytes);

    /** The plan does not suit what the ranks do: its step is to be cut anew. */
    void startAnew();

    /**
     * The cut for which all ranks are to leave the plan; an empty list of batches if it is to be found anew; empty if
     * the plan is to be kept.
     */
    Optional<List<List<String>>> proposal();

    /** Other settings hold from now on. */
    void tune(Tunable settings);

    /** Whether it needs to know when the program asks for results; any thread may call this. */
    boolean isLooking();

    /** The program asks for the result of one of the plan's operations; any thread may call this. */
    void observed(String name);
}
