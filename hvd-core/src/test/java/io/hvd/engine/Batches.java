package io.hvd.engine;

/** What tests ask of batches whose record they do not know. */
final class Batches {
    private Batches() {}

    /** Why it is refused, or which record says what is run. */
    static Object verdict(Batch batch) {
        return batch instanceof Batch.Refusal refusal ? refusal.reason() : batch.getClass();
    }

    /** What is wrong; empty for what is carried out. */
    static String error(Batch batch) {
        return batch instanceof Batch.Refusal refusal ? refusal.error() : "";
    }
}
