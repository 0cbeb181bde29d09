package io.hvd.spark;

import java.io.Serializable;

/**
 * The program of each worker of an elastic job, which Spark sends to the executors with everything that it refers to. It makes
 * its state and calls {@link io.hvd.Elastic#run(io.hvd.ElasticState, io.hvd.Elastic.Body)} on the thread that runs it.
 */
@FunctionalInterface
public interface ElasticBody<R> extends Serializable {
    /** Runs the program of one worker; its result is not null. */
    R run() throws Exception;
}
