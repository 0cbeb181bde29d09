package io.hvd.monitor.view;

/**
 * The report of a hang, which ends the job. It is sent to every rank that still listens.
 *
 * @param verdict one sentence that names the rank, the call that it has not made, and where it is instead
 * @param reporter the rank that has written the report
 * @param file the report's file, or the reason why there is none
 */
public record HangReport(String verdict, int reporter, String file) {}
