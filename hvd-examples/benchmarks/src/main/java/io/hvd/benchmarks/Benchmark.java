package io.hvd.benchmarks;

import java.io.IOException;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.commons.cli.ParseException;

/** One of the benchmarks: its default plan, and its measurements. */
interface Benchmark {
    String name();

    /** The description for the help text. */
    String summary();

    MeasurementPlan usual();

    /** The plan for {@code --quick}, which takes one to two minutes. */
    MeasurementPlan quick();

    /** Flags that only this benchmark has, all of them with a value; by name, with their meaning. */
    default Map<String, String> ownFlags() {
        return Map.of();
    }

    /**
     * Measures.
     *
     * @param progress is told what is being done, for the user who waits
     * @param results receives each measurement as soon as it is finished
     */
    void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException, ParseException;

    /** Whether results follow from this plan; without one, the run has then failed. */
    default boolean measures(MeasurementPlan plan) throws ParseException {
        return true;
    }

    /** Is told what is being done. */
    interface Progress {
        void say(String words);
    }
}
