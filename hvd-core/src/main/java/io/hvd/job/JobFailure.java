package io.hvd.job;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Why the job cannot go on, in the words of whoever finds out first. Any thread. */
final class JobFailure {
    private final CompletableFuture<String> words = new CompletableFuture<>();

    /** @return false if somebody has been faster */
    boolean is(String why) {
        return words.complete(why);
    }

    /** Empty as long as there is none. */
    String words() {
        return words.getNow("");
    }

    /** Returns as soon as there is one, or empty at the limit. */
    String await(long limitMillis) {
        try {
            return words.get(limitMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            return "";
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "";
        }
    }
}
