/**
 * Records the operations of all ranks in the time of one clock and in one file, and says at the end which ranks the
 * others waited for.
 *
 * <pre>
 * every rank   FlightRecorder -> EventBuffer -> Reporter: on rank 0's clock, ten times a second
 * rank 0       Collector -> Recording -> Rendering  -> TimelineFile
 *                                     -> StepSplit  -> Verdict
 * </pre>
 */
package io.hvd.timeline;
