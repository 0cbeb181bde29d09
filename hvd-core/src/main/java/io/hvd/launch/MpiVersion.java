package io.hvd.launch;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which MPI an mpirun belongs to. From major version 5 on Open MPI starts its ranks with PRRTE,
 * which takes other arguments than the launcher of 4.
 */
record MpiVersion(int major, int minor, String text) {

    private static final Pattern OPEN_MPI = Pattern.compile("\\((?:Open MPI|OpenRTE)\\) ((\\d+)\\.(\\d+)\\S*)");

    /** Reads what {@code mpirun --version} prints; empty if that is not Open MPI. */
    static Optional<MpiVersion> parse(String output) {
        Matcher matcher = OPEN_MPI.matcher(output);
        if (!matcher.find()) {
            return Optional.empty();
        }
        int major = Integer.parseInt(matcher.group(2));
        int minor = Integer.parseInt(matcher.group(3));
        return Optional.of(new MpiVersion(major, minor, "Open MPI " + matcher.group(1)));
    }

    boolean startsWithPrrte() {
        return major >= 5;
    }

    /** The switch that sets a parameter of the start-up layer (ssh, daemons), not of MPI itself. */
    String startUpSwitch() {
        return startsWithPrrte() ? "--prtemca" : "--mca";
    }
}
