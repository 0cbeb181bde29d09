package io.hvd.launch;

import io.hvd.launch.process.LaunchEnvironment;
import io.hvd.launch.process.StartedJob;
import java.nio.file.Path;
import java.util.Map;

/** A way to start the ranks of a job that has been prepared. */
interface Start {

    /** What is going to be started, with reasons, for a reader; values of secrets as asterisks. */
    String explained();

    /**
     * The job, which is still to be run.
     *
     * @param variables what the ranks get of this run
     * @param folder that of the job's failure records
     */
    StartedJob job(Map<String, String> variables, Path folder, LaunchEnvironment around);
}
