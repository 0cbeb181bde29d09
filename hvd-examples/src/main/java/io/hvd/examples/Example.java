package io.hvd.examples;

import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;

/** One of the programs in train.jar. */
public interface Example {
    /** The word that picks it. */
    String name();

    /** One line for the list of examples. */
    String summary();

    Options flags();

    void run(CommandLine line) throws Exception;
}
