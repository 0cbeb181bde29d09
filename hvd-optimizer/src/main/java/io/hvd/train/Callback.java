package io.hvd.train;

/**
 * A part of a {@link TrainingLoop} besides its steps. Its methods are called on every rank, on the thread that runs the loop, and
 * may call collectives if they do so on all ranks alike. An exception of a callback ends the loop with a {@link CallbackException} that has its name; if the program does not catch that, the job ends with it.
 */
public interface Callback {
    /**
     * In which order callbacks are called, whatever the order in which a program names them; those of one place are called in the
     * order of the program. The metrics of an epoch are averaged before any of them is told that it has ended.
     */
    enum Place {
        /** Makes the ranks start alike. */
        BROADCAST,
        /** Sets the learning rate. */
        SCHEDULE,
        /** Decides whether to go on. */
        DECISION,
        /** Saves what there is. */
        CHECKPOINT,
        /** Saves what all those before have seen, to go on from there. */
        RESUME,
        /** The program's own. */
        PROGRAM
    }

    /** Where this one stands among the others. */
    default Place place() {
        return Place.PROGRAM;
    }

    /**
     * Whether {@link #batchBegins} or {@link #batchEnds} calls collectives, for which all ranks must be there. With {@link
     * TrainingLoop#join} ranks end an epoch after different numbers of batches, and the loop refuses such callbacks.
     */
    default boolean meetsInBatches() {
        return false;
    }

    /** The first thing that happens. */
    default void trainingBegins(Training training) throws Exception {}

    /** Before the first batch of an epoch. */
    default void epochBegins(Training training) throws Exception {}

    /** Before a batch. */
    default void batchBegins(Training training) throws Exception {}

    /** After a batch. */
    default void batchEnds(Training training) throws Exception {}

    /** After the last batch of an epoch and its evaluation; {@link Training#result} has the averages. */
    default void epochEnds(Training training) throws Exception {}

    /** After the last epoch, also if the loop was stopped. */
    default void trainingEnds(Training training) throws Exception {}

    /**
     * In place of {@link #trainingEnds}, when the loop ends by an exception on this rank: gives back what outlives the loop, such as a
     * handler of a signal. It calls no collective and waits for no other rank. It also comes to callbacks that were not told of a
     * beginning, since one before them has failed.
     */
    default void trainingFails(Training training) throws Exception {}
}
