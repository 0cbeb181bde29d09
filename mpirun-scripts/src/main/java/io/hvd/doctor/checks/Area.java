package io.hvd.doctor.checks;

import java.util.Locale;

/** The subject of a finding; {@code --only} takes one of these names. */
public enum Area {
    HOSTS,
    MPI,
    START,
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
