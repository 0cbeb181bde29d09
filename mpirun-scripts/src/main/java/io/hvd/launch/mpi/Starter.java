package io.hvd.launch.mpi;

import java.util.List;
import java.util.Map;

/** What starts the ranks of a job. */
public enum Starter {
    MPIRUN,
    /** horovodrun itself; no MPI is needed. */
    HOROVODRUN,
    /** mpirun if there is one, else horovodrun itself. */
    EITHER;

    /** Horovod's count first. */
    private static final List<String> VARIABLES =
            List.of("HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HVD_BACKEND");

    /** What the variables of the job ask for. */
    public static Starter of(Map<String, String> environment) {
        for (String one : VARIABLES) {
            String value = environment.getOrDefault(one, "").strip();
            if (value.equalsIgnoreCase("gloo") || value.equalsIgnoreCase("mpi")) {
                return value.equalsIgnoreCase("mpi") ? MPIRUN : HOROVODRUN;
            }
        }
        return EITHER;
    }

    /** The one that it is in this environment. */
    public Starter in(Map<String, String> environment) {
        return this != EITHER ? this : MpiInstall.isMissing(environment) ? HOROVODRUN : MPIRUN;
    }
}
