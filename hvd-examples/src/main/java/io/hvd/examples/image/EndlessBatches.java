package io.hvd.examples.image;

import java.util.Iterator;

/** The batches of a loader, pass after pass, so that an epoch may have another number of them than the data. */
final class EndlessBatches<B> implements Iterable<B> {
    private final Iterable<B> loader;
    private final int perEpoch;
    private Iterator<B> pass;

    /** @param perEpoch batches of each epoch */
    EndlessBatches(Iterable<B> loader, int perEpoch) {
        this.loader = loader;
        this.perEpoch = perEpoch;
    }

    /** Goes on where the epoch before has ended. */
    @Override
    public Iterator<B> iterator() {
        return new Iterator<>() {
            private int given;

            @Override
            public boolean hasNext() {
                return given < perEpoch;
            }

            @Override
            public B next() {
                given++;
                if (pass == null || !pass.hasNext()) {
                    pass = loader.iterator();
                }
                return pass.next();
            }
        };
    }
}
