package io.hvd.examples.image;

import io.hvd.HvdContext;
import io.hvd.train.checkpoint.TerminationSignal;
import java.util.Optional;

/**
 * A training before it loads its data.
 *
 * @param example its name
 * @param signal SIGTERM, heard from here on if the training saves a series of checkpoints; else it ends the process as ever
 */
record RunStart(String example, HvdContext hvd, Optional<TerminationSignal> signal) {
    static RunStart of(String example, HvdContext hvd, TrainingOptions options) {
        return new RunStart(example, hvd, options.series().folder().map(folder -> TerminationSignal.listen()));
    }
}
