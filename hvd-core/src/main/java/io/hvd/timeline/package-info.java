/**
 * Records the operations of all ranks in the time of one clock and in one file, and says at the end which ranks the
 * others waited for.
 *
 * <pre>
 * every rank   FlightRecorder -> EventBuffer -> EventReporter: on rank 0's clock, ten times a second
 * rank 0       EventCollector -> TimelineRecording -> TraceRendering -> TimelineFile
 *                                                  -> StepSplit      -> StepSummary
 * </pre>
 */
package io.hvd.timeline;
