package io.hvd.contract.explorer;

/**
 * Something that a program has shown to be wrong.
 *
 * @param certain false if a machine with too much to do could be the reason: then it must be seen a second time
 */
record Finding(Property property, boolean certain, String what) {
    enum Property {
        /** A program gives what the plain loop gives, whatever carries it out. */
        EQUALS_THE_PLAIN_LOOP,
        /** Ranks that all keep calling wait for nobody but those whom they must wait for. */
        STALLS_FOR_NOBODY,
        /** The job ended, or the program did not. */
        COMES_TO_ITS_END
    }

    @Override
    public String toString() {
        return property + (certain ? ": " : " (unless the machine was busy): ") + what;
    }
}
