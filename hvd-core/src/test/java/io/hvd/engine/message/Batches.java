package io.hvd.engine.message;

/** What tests ask of batches whose record they do not know. */
public final class Batches {
    private Batches() {}

    /** Why it is refused, or which record says what is run. */
    public static Object verdict(Batch batch) {
        return batch instanceof Batch.Refusal refusal ? refusal.reason() : batch.getClass();
    }

    /** What is wrong; empty for what is carried out. */
    public static String error(Batch batch) {
        return batch instanceof Batch.Refusal refusal ? refusal.error() : "";
    }
}
