package io.hvd.doctor.checks;

import java.util.Locale;

/** What a finding is about; {@code --only} takes one of these names. */
public enum Area {
    HOSTS,
    MPI,
    JAVA,
    GPU,
    MEMORY,
    SHM,
    LIMITS,
    NAMES,
    NETWORK,
    CLOCK,
    SELF_TEST;

    /** As users write it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
