package io.hvd.doctor;

import io.hvd.doctor.Facts.Mpi;
import io.hvd.doctor.Patient.Host;
import java.util.ArrayList;
import java.util.List;

/** Whether ranks can start and join under the MPI of every host. */
final class MpiCheck implements Check {

    private static final String SET_UP = "mpirun-scripts/setup.sh";

    @Override
    public List<Finding> findings(Patient patient) {
        List<Finding> found = new ArrayList<>();
        found.addAll(Check.each(patient, Diagnosis.NO_MPI, host -> mpi(host).obstacle(), SET_UP));
        found.addAll(Check.each(patient, Diagnosis.OTHER_MPI, MpiCheck::otherMpi, SET_UP));
        found.addAll(Check.each(patient, Diagnosis.NO_BINDINGS, MpiCheck::noBindings, SET_UP));
        found.addAll(Check.each(patient, Diagnosis.WRONG_JAR, MpiCheck::wrongJar, "unset HVD_MPI_JAR && " + SET_UP));
        found.addAll(Check.same(
                patient, Diagnosis.MPI_DIFFERS, "MPI", host -> mpi(host).version(), SET_UP));
        found.addAll(Check.each(patient, Diagnosis.NO_DAEMON, MpiCheck::noDaemon, "apt-get install -y openmpi-bin"));
        return found;
    }

    private static Mpi mpi(Host host) {
        return host.facts().mpi();
    }

    private static String otherMpi(Host host) {
        Mpi mpi = mpi(host);
        return mpi.obstacle().isEmpty() && !mpi.runsHvd()
                ? mpi.mpirun() + " is " + mpi.version() + ", hvd needs Open MPI 4.1 or 5.0"
                : "";
    }

    private static String noBindings(Host host) {
        return mpi(host).runsHvd() && !mpi(host).bindings() ? mpi(host).jarObstacle() : "";
    }

    private static String wrongJar(Host host) {
        return mpi(host).runsHvd()
                        && mpi(host).bindings()
                        && host.facts().badSetting().isEmpty()
                        && mpi(host).jar().isEmpty()
                ? mpi(host).jarObstacle()
                : "";
    }

    /** This host needs none: mpirun is its daemon. */
    private static String noDaemon(Host host) {
        boolean needed = !host.here() && mpi(host).runsHvd();
        return needed && mpi(host).daemonPath().isEmpty()
                ? mpi(host).daemon() + " is not on the PATH of a command that ssh runs there"
                : "";
    }
}
