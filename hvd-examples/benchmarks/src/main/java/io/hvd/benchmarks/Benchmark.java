package io.hvd.benchmarks;

import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.commons.cli.ParseException;

/** One of the benchmarks: how much it does if nothing is said, and what it measures. */
interface Benchmark {
    String name();

    /** A sentence for the help text. */
    String summary();

    Plan usual();

    /** What is done in less than a minute. */
    Plan quick();

    /** Flags with a value that the others do not have: name and meaning. */
    default Map<String, String> ownFlags() {
        return Map.of();
    }

    /**
     * @param progress takes words for whoever waits
     * @param results takes each measurement as soon as it is there
     */
    void run(Plan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException, ParseException;

    /** Hears what is being done. */
    interface Progress {
        void say(String words);
    }
}
