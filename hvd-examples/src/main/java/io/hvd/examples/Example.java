package io.hvd.examples;

import io.hvd.InitOptions;
import io.hvd.RankBody;
import io.hvd.error.HvdException;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** One of the programs in train.jar. */
public interface Example {
    /** The word that picks it. */
    String name();

    /** One line for the list of examples. */
    String summary();

    Options flags();

    /**
     * Reads the flags, before the job begins.
     *
     * @return what every rank runs, on its process or thread; its result is the exit code, a {@link ParseException} from
     *     it is a mistake in the flags that shows only now and that all ranks find, and an {@link ExampleFailure} another
     *     end that all ranks come to
     */
    RankBody<Integer> program(CommandLine line) throws ParseException;

    /** Why its ranks cannot be threads of one JVM; empty if they can. */
    default Optional<String> whyNoThreads() {
        return Optional.empty();
    }

    /** How its ranks, as processes, join. */
    default InitOptions joining() {
        return InitOptions.standard();
    }

    /**
     * The job could not begin.
     *
     * @return the exit code
     */
    default int refused(CommandLine line, HvdException why) {
        throw why;
    }
}
