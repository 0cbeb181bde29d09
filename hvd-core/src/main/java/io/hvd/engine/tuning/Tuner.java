package io.hvd.engine.tuning;

import io.hvd.engine.message.Tunable;
import io.hvd.engine.message.Tuning;
import java.util.Collection;

/** Looks for better settings while the program trains. Only the thread that has the data plane calls it. */
public interface Tuner {
    /** Whether it wants to know what the ranks carry out. */
    boolean isMeasuring();

    /** A static plan begins. */
    void planBegan();

    /** The ranks negotiate again. */
    void planEnded();

    /** The ranks have carried out negotiated allreduces of all ranks. */
    void ran(Collection<String> names, long bytes, long nanos);

    /** Some ranks have joined, and the others have carried out allreduces. */
    void ranWithoutSome();

    /**
     * The ranks have carried out a step of the static plan.
     *
     * @return whether they have to leave the plan, for other settings
     */
    boolean ranStep(long bytes, long nanos);

    /** The settings that are to hold; the same as before if nothing is to change. */
    Tunable wanted();

    /** What is to be sent to all ranks, once; null if nothing is. */
    Tuning takeWish();

    /** Settings that were sent hold on this rank, and with its next plan on the others. */
    void applied(Tuning tuning);

    /** The job ends. */
    void close();
}
