package io.hvd.job;

import io.hvd.config.HvdConfig;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/**
 * The wishes of a program that joins a job.
 *
 * @param ranks ranks of the launcher's job that take part, in their new order; empty means all
 * @param processSets global ranks of the process sets that are there from the start
 * @param settings values of settings, by variable, that count instead of those in the environment
 * @param applied what the program asks for on top of the settings
 * @param throwsFailures whether a failure of the job is left to the program, and never ends its process
 */
public record JobOptions(
        List<Integer> ranks,
        List<List<Integer>> processSets,
        Map<String, String> settings,
        UnaryOperator<HvdConfig> applied,
        boolean throwsFailures) {}
