package io.hvd.launch;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.launch.failure.JobFailureReport;
import io.hvd.launch.failure.ObservedFailure;

/** A job that {@link HvdLauncher} has started did not succeed; the message is what horovodrun would have printed. */
public final class JobFailedException extends HvdException {
    private static final long serialVersionUID = 1L;

    private final int rank;
    private final String host;
    private final int exitCode;

    JobFailedException(JobFailureReport report) {
        super(ErrorId.JOB_FAILED, "the job has failed; " + report.text().strip());
        this.rank = report.rank();
        this.host = report.host();
        this.exitCode = report.exitCode();
    }

    JobFailedException(String message) {
        super(ErrorId.JOB_FAILED, message);
        this.rank = ObservedFailure.NO_RANK;
        this.host = "";
        this.exitCode = ObservedFailure.NO_CODE;
    }

    /** That failed first; -1 if it is not known, or was none. */
    public int rank() {
        return rank;
    }

    /** The host of that rank; empty if it is not known. */
    public String host() {
        return host;
    }

    /** The exit code of the first failure; -1 if the job was ended from here. */
    public int exitCode() {
        return exitCode;
    }
}
