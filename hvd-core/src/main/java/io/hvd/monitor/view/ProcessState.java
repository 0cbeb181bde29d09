package io.hvd.monitor.view;

import java.util.Optional;

/** The state of a rank's process. */
public enum ProcessState {
    ANSWERS("answers"),
    STOPPED("is stopped (process state T)"),
    ZOMBIE("has died (process state Z)"),
    GONE("has died (its process is gone)"),
    SILENT("lives, but its monitor does not answer"),
    UNKNOWN("does not answer, and no rank on its host answers that could look at its process");

    private final String words;

    ProcessState(String words) {
        this.words = words;
    }

    /** Words that continue a sentence which begins with a rank. */
    public String words() {
        return words;
    }

    /** True if the process will do nothing more by itself. */
    public boolean isStill() {
        return this == STOPPED || this == ZOMBIE || this == GONE;
    }

    /** Looks at a process of this machine. */
    public static ProcessState of(RankProcess member) {
        return of(ProcessStat.read(member.pid()), member.startTicks());
    }

    public static ProcessState of(Optional<ProcessStat> stat, long startTicks) {
        if (stat.isEmpty() || stat.get().startTicks() != startTicks) {
            return GONE;
        }
        return switch (stat.get().state()) {
            case 'T', 't' -> STOPPED;
            case 'Z' -> ZOMBIE;
            case 'X', 'x' -> GONE;
            default -> SILENT;
        };
    }
}
