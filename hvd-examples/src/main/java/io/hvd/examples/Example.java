package io.hvd.examples;

import io.hvd.InitOptions;
import io.hvd.RankBody;
import io.hvd.error.HvdException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** One of the programs in train.jar. */
public interface Example {
    /** The name by which the command line chooses the example. */
    String name();

    /** The line for the list of examples. */
    String summary();

    Options flags();

    /**
     * Reads the flags, before the job begins.
     *
     * @return the program that every rank runs, on its process or thread. Its result is the exit code. It throws a
     *     {@link ParseException} if it finds a mistake in the flags that could not be seen before, and an {@link
     *     ExampleFailure} for any other failure; in both cases all ranks do so
     */
    RankBody<Integer> program(CommandLine line) throws ParseException;

    /**
     * The runs of this example that {@code mpirun-scripts/bench-examples.sh} measures for the table in docs/records/examples.md. One that is
     * left out says why.
     */
    default List<QuickRun> quickRuns() {
        return List.of(QuickRun.of("--preset quick"));
    }

    /** The reason why ranks cannot be threads of one JVM; empty if they can. */
    default Optional<String> whyNoThreads() {
        return Optional.empty();
    }

    /** The options with which the ranks join the job, processes as well as threads. */
    default InitOptions joining(CommandLine line) throws ParseException {
        return InitOptions.standard();
    }

    /**
     * Reads the flags as {@link #program} does.
     *
     * @return what a process runs whose program joins its job itself, such as an elastic one; its result is the exit code. Empty if it is
     *     the {@link #program}, in the job that it finds
     */
    default Optional<Callable<Integer>> joinsItself(CommandLine line) throws ParseException {
        return Optional.empty();
    }

    /**
     * Called if the job could not begin.
     *
     * @return the exit code
     */
    default int refused(CommandLine line, HvdException why) {
        throw why;
    }
}
