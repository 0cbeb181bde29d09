package io.hvd.launch.mpi;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which MPI an mpirun belongs to. From major version 5 on Open MPI starts its ranks with PRRTE,
 * which takes other arguments than the launcher of 4.
 */
public record MpiVersion(Flavour flavour, int major, int minor, String text) {

    /** Of a job that no MPI starts. */
    public static final MpiVersion NONE = new MpiVersion(Flavour.NONE, 0, 0, "no MPI");

    private static final int OLDEST_MAJOR = 4;
    private static final int NEWEST_MAJOR = 6;
    private static final int OLDEST_MPICH = 4;
    private static final int NEWEST_MPICH = 5;
    /** The first Java with them. */
    private static final int FOREIGN_FUNCTIONS = 22;

    /** The MPIs whose mpirun is known; they differ in the words it takes, and in what hvd can run on them. */
    public enum Flavour {
        OPEN_MPI("Open MPI", "\\((?:Open MPI|OpenRTE)\\) (\\d{1,6})\\.(\\d{1,6})\\S*"),
        SPECTRUM("IBM Spectrum MPI", "IBM Spectrum MPI\\)? *(\\d{1,6})\\.(\\d{1,6})\\S*"),
        INTEL("Intel MPI", "Intel\\(R\\) MPI Library[^\\n]*?Version (\\d{1,6})\\.(\\d{1,6})\\S*"),
        HYDRA("MPICH", "(?:HYDRA build details:\\s+Version:|mpich[- ]?)\\s*(\\d{1,6})\\.(\\d{1,6})\\S*"),
        /** The launcher starts the ranks itself. */
        NONE("no MPI", "(?!)");

        private final String spoken;
        private final Pattern pattern;

        Flavour(String spoken, String pattern) {
            this.spoken = spoken;
            this.pattern = Pattern.compile(pattern, Pattern.CASE_INSENSITIVE);
        }
    }

    /** Reads what {@code mpirun --version} prints; empty if that is none of those known. */
    public static Optional<MpiVersion> parse(String output) {
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

    /**
     * Why no rank is started under it; empty if ranks are.
     *
     * @param java the feature release of the ranks' Java; empty if it is not known
     */
    public Optional<String> obstacle(OptionalInt java) {
        return switch (flavour) {
            case SPECTRUM -> Optional.of("hvd was never run on it");
            case INTEL, HYDRA ->
                java.isPresent() && java.getAsInt() < FOREIGN_FUNCTIONS
                        ? Optional.of("it has no Java bindings, so hvd calls it by foreign functions, which need Java "
                                + FOREIGN_FUNCTIONS + " or newer, and the ranks have Java " + java.getAsInt())
                        : Optional.empty();
            case OPEN_MPI ->
                major < OLDEST_MAJOR
                        ? Optional.of("hvd was never run on an Open MPI before 4, and Horovod's users have seen jobs"
                                + " hang on 3.1.3")
                        : Optional.empty();
            case NONE -> Optional.empty();
        };
    }

    /** A remark for the case that something goes wrong: hvd runs here, but nobody has tried. */
    public Optional<String> doubt() {
        boolean tried =
                switch (flavour) {
                    case OPEN_MPI ->
                        major == OLDEST_MAJOR && minor >= 1 || major > OLDEST_MAJOR && major <= NEWEST_MAJOR;
                    case HYDRA -> major >= OLDEST_MPICH && major <= NEWEST_MPICH;
                    default -> false;
                };
        return tried || obstacle(OptionalInt.empty()).isPresent()
                ? Optional.empty()
                : Optional.of("hvd is tested with Open MPI 4.1 to 6.0 and with MPICH 4 and 5, not with " + text
                        + "; if ranks hang or do not start, try one of those");
    }

    /** MPICH's launcher, which Intel has made its own. */
    public boolean startsWithHydra() {
        return flavour == Flavour.HYDRA || flavour == Flavour.INTEL;
    }

    /** Whether PRRTE starts the ranks, as from Open MPI 5.0 on. */
    public boolean startsWithPrrte() {
        return flavour == Flavour.OPEN_MPI && major >= 5;
    }

    /** The switch that sets a parameter of the start-up layer (ssh, daemons), not of MPI itself. */
    String startUpSwitch() {
        return startsWithPrrte() ? "--prtemca" : "--mca";
    }
}
