package io.hvd.report;

/** Says what hvd-report cannot read, with its file. */
final class ReportException extends Exception {
    private static final long serialVersionUID = 1;

    ReportException(String message) {
        super(message);
    }
}
