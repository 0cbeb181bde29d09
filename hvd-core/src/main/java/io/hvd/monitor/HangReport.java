package io.hvd.monitor;

/**
 * The end of a job that hangs, as every rank that still listens is told it.
 *
 * @param verdict one sentence: which rank, which call, where it is instead
 * @param reporter rank that has written the report
 * @param file where, or why nowhere
 */
public record HangReport(String verdict, int reporter, String file) {}
