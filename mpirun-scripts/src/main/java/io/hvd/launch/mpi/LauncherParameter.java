package io.hvd.launch.mpi;

import io.hvd.launch.words.Argument;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The parameters of the part of Open MPI that starts a job, by their names in Open MPI 4.1 (whose launcher is ORTE) and
 * in 5.0 (PRRTE 3.0): this is the one place that knows which name counts for which mpirun. Both were tried with 4.1.4
 * and 5.0.7. An mpirun takes the other's names from the command line at most, and ignores the other's variables: 4.1
 * reads {@code OMPI_MCA_}, while 5.0 reads {@code PRTE_MCA_} for these and {@code OMPI_MCA_} for those of MPI itself.
 */
public enum LauncherParameter {
    DEFAULT_HOSTFILE("orte_default_hostfile", "prte_default_hostfile"),
    KEEP_FULL_NAMES("orte_keep_fqdn_hostnames", "prte_keep_fqdn_hostnames"),
    SSH_AGENT("plm_rsh_agent", "plm_ssh_agent"),
    SSH_ARGUMENTS("plm_rsh_args", "plm_ssh_args"),
    NO_TREE_SPAWN("plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn"),
    CALLS_AT_ONCE("plm_rsh_num_concurrent", "plm_ssh_num_concurrent"),
    USED_INTERFACES("oob_tcp_if_include", "prte_if_include"),
    UNUSED_INTERFACES("oob_tcp_if_exclude", "prte_if_exclude"),
    /** PRRTE 3.0 has kept ORTE's names for these; those with prte_ are of PRRTE 4.0; Open MPI 6.0.0rc2 takes them. */
    KEEPALIVE_TIME("oob_tcp_keepalive_time", "oob_tcp_keepalive_time", "prte_keepalive_time"),
    KEEPALIVE_INTERVAL("oob_tcp_keepalive_intvl", "oob_tcp_keepalive_intvl", "prte_keepalive_intvl"),
    KEEPALIVE_PROBES("oob_tcp_keepalive_probes", "oob_tcp_keepalive_probes", "prte_keepalive_probes");

    private static final String OF_ORTE = "OMPI_MCA_";
    private static final String OF_PRRTE = "PRTE_MCA_";
    private static final List<String> PREFIXES = List.of(OF_ORTE, "PMIX_MCA_");

    /** Beginnings of the names of parameters that belong to the start of a job, and not to MPI. */
    private static final List<String> LAYERS = List.of(
            "orte_",
            "prte_",
            "plm_",
            "ras_",
            "rmaps_",
            "odls_",
            "oob_",
            "ess_",
            "iof_",
            "routed_",
            "grpcomm_",
            "state_");

    private static final int PRRTE_3_MAJOR = 5;

    private final String name4;
    private final String name5;
    private final String name6;

    LauncherParameter(String name4, String name5) {
        this(name4, name5, name5);
    }

    LauncherParameter(String name4, String name5, String name6) {
        this.name4 = name4;
        this.name5 = name5;
        this.name6 = name6;
    }

    /** The name for {@code --mca} or {@code --prtemca}. */
    public String name(MpiVersion version) {
        return !version.startsWithPrrte() ? name4 : version.major() > PRRTE_3_MAJOR ? name6 : name5;
    }

    /** The environment variable that this mpirun reads. */
    public String variable(MpiVersion version) {
        return (version.startsWithPrrte() ? OF_PRRTE : OF_ORTE) + name(version);
    }

    private String foreignVariable(MpiVersion version) {
        return version.startsWithPrrte() ? OF_ORTE + name4 : OF_PRRTE + name5;
    }

    /** The environment variables that any mpirun reads. */
    public List<String> variables() {
        return List.of(OF_ORTE + name4, OF_PRRTE + name5);
    }

    /** The argument that sets it. */
    public Argument set(MpiVersion version, String value, String reason) {
        return Argument.of(reason, version.startUpSwitch(), name(version), value);
    }

    /**
     * The value that the environment gives it by the name for the other launcher only, as an operator of Kubernetes
     * does that knows nothing of the image's Open MPI.
     */
    public Optional<Foreign> foreign(MpiVersion version, Map<String, String> environment) {
        String variable = foreignVariable(version);
        String value = environment.getOrDefault(variable, "");
        return value.isBlank()
                        || environment.containsKey(variable(version))
                        || version.flavour() != MpiVersion.Flavour.OPEN_MPI
                ? Optional.empty()
                : Optional.of(new Foreign(this, variable, value));
    }

    /** Whether a variable sets a parameter of this mpirun's; then what it is called. */
    static Optional<String> parameterOf(String variable, MpiVersion version) {
        if (variable.startsWith(OF_PRRTE)) {
            return Optional.of(variable.substring(OF_PRRTE.length())).filter(name -> version.startsWithPrrte());
        }
        for (String prefix : PREFIXES) {
            if (variable.startsWith(prefix)) {
                String name = variable.substring(prefix.length());
                return version.startsWithPrrte() && LAYERS.stream().anyMatch(name::startsWith)
                        ? Optional.empty()
                        : Optional.of(name);
            }
        }
        return Optional.empty();
    }

    /** A parameter that the environment sets for another launcher than the one that is there. */
    public record Foreign(LauncherParameter parameter, String variable, String value) {
        /** The argument that makes this launcher heed it all the same. */
        public Argument argument(MpiVersion version) {
            return parameter.set(version, value, variable + ", which " + version.text() + " does not read itself");
        }
    }
}
