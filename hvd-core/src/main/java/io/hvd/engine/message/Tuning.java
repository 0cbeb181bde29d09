package io.hvd.engine.message;

/**
 * What rank 0 tells all ranks about autotuning, with a plan.
 *
 * @param settings the settings that hold from this plan on
 * @param result the one line that says what has been chosen and why; empty while the search goes on
 */
public record Tuning(Tunable settings, String result) {}
