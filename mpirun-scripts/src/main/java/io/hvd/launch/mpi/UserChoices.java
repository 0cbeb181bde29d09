package io.hvd.launch.mpi;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * What the user has told mpirun directly, by --mpi-args or by the environment. It wins over our
 * defaults: mpirun refuses a parameter that is named twice, and its line outranks its environment.
 */
public final class UserChoices {

    private static final Set<String> MAPPINGS =
            Set.of("map-by", "ppr", "npernode", "N", "npersocket", "pernode", "bynode", "byslot", "rankfile", "rf");
    private static final Set<String> BINDINGS = Set.of("bind-to", "bind-to-core", "bind-to-socket", "bind-to-none");

    private final Map<String, String> sources = new HashMap<>();

    public UserChoices(List<String> mpiArguments, Map<String, String> environment, MpiVersion version) {
        for (String variable : environment.keySet()) {
            LauncherParameter.parameterOf(variable, version).ifPresent(name -> sources.put(name, variable));
        }
        for (int i = 0; i < mpiArguments.size(); i++) {
            if (mpiArguments.get(i).startsWith("-")) {
                String next = i + 1 < mpiArguments.size() ? mpiArguments.get(i + 1) : "";
                addFlag(mpiArguments.get(i).replaceFirst("^--?", ""), next);
            }
        }
    }

    /** Where an mpirun flag ({@code bind-to}), an MCA parameter ({@code btl}) or an export ({@code -x NAME}) was set. */
    public Optional<String> source(String name) {
        return Optional.ofNullable(sources.get(name));
    }

    private void addFlag(String flag, String next) {
        sources.put(name(flag, next), "--mpi-args");
    }

    private static String name(String flag, String next) {
        if (flag.endsWith("mca")) {
            return next;
        }
        if (flag.equals("x")) {
            return "-x " + next.replaceFirst("=.*", "");
        }
        if (MAPPINGS.contains(flag)) {
            return "map-by";
        }
        return BINDINGS.contains(flag) ? "bind-to" : flag;
    }
}
