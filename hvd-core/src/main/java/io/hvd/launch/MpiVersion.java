package io.hvd.launch;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which MPI an mpirun belongs to. From major version 5 on Open MPI starts its ranks with PRRTE,
 * which takes other arguments than the launcher of 4.
 */
public record MpiVersion(Flavour flavour, int major, int minor, String text) {

    /** The MPIs whose mpirun is known; they differ in the words it takes, and in what hvd can run on them. */
    public enum Flavour {
        OPEN_MPI("Open MPI", "\\((?:Open MPI|OpenRTE)\\) (\\d+)\\.(\\d+)\\S*"),
        SPECTRUM("IBM Spectrum MPI", "IBM Spectrum MPI\\)? *(\\d+)\\.(\\d+)\\S*"),
        INTEL("Intel MPI", "Intel\\(R\\) MPI Library[^\\n]*?Version (\\d+)\\.(\\d+)\\S*"),
        HYDRA("MPICH", "(?:HYDRA build details:\\s+Version:|mpich[- ]?)\\s*(\\d+)\\.(\\d+)\\S*");

        private final String spoken;
        private final Pattern pattern;

        Flavour(String spoken, String pattern) {
            this.spoken = spoken;
            this.pattern = Pattern.compile(pattern, Pattern.CASE_INSENSITIVE);
        }
    }

    /** Reads what {@code mpirun --version} prints; empty if that is none of those known. */
    static Optional<MpiVersion> parse(String output) {
        for (Flavour flavour : Flavour.values()) {
            Matcher matcher = flavour.pattern.matcher(output);
            if (matcher.find()) {
                String number = matcher.group().replaceFirst("(?s).*?(\\d+\\.\\d+\\S*)$", "$1");
                return Optional.of(new MpiVersion(
                        flavour,
                        Integer.parseInt(matcher.group(1)),
                        Integer.parseInt(matcher.group(2)),
                        flavour.spoken + " " + number));
            }
        }
        return Optional.empty();
    }

    /** Whether ranks can join under it: hvd's MPI back end uses the Java bindings that only Open MPI has. */
    public boolean runsHvd() {
        return flavour == Flavour.OPEN_MPI;
    }

    /** MPICH's launcher, which Intel has made its own. */
    boolean startsWithHydra() {
        return flavour == Flavour.HYDRA || flavour == Flavour.INTEL;
    }

    public boolean startsWithPrrte() {
        return flavour == Flavour.OPEN_MPI && major >= 5;
    }

    /** The switch that sets a parameter of the start-up layer (ssh, daemons), not of MPI itself. */
    String startUpSwitch() {
        return startsWithPrrte() ? "--prtemca" : "--mca";
    }

    /** What the part of the start-up layer that calls ssh is called in its parameters. */
    String sshPart() {
        return startsWithPrrte() ? "plm_ssh" : "plm_rsh";
    }
}
