package io.hvd.doctor.checks;

import java.util.Locale;

/** What a finding does to a job. */
public enum Severity {
    /** It does not start, or does not go on. */
    ERROR,
    /** It runs, and something will hurt. */
    WARNING,
    /** It runs without something that hvd could use. */
    NOTE;

    /** As the report writes it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
