package io.hvd.job.failure;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The reason why the job cannot go on, as the first thread that finds it puts it. Any thread may use it. */
public final class JobFailure {
    private final CompletableFuture<String> words = new CompletableFuture<>();

    /** @return false if another thread has given a reason before */
    public boolean is(String why) {
        return words.complete(why);
    }

    /** Empty as long as there is none. */
    public String words() {
        return words.getNow("");
    }

    /** Returns as soon as there is one, or empty at the limit. */
    public String await(long limitMillis) {
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
