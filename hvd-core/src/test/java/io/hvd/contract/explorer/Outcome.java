package io.hvd.contract.explorer;

import io.hvd.contract.program.Program;
import java.util.List;

/**
 * The findings of a run of a program.
 *
 * @param findings none if all is well
 * @param lagMillis the longest time that an operation was waited for after all had asked for it
 */
record Outcome(Program program, List<Finding> findings, long lagMillis, double seconds) {
    boolean isRed() {
        return !findings.isEmpty();
    }

    /** Whether it must be seen a second time before it counts. */
    boolean isDoubtful() {
        return isRed() && findings.stream().noneMatch(Finding::certain);
    }
}
