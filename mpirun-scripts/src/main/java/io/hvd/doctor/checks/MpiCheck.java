package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.Facts.Mpi;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import java.util.ArrayList;
import java.util.List;

/** Whether ranks can start and join under the MPI of every host. */
final class MpiCheck implements Check {

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>();
        String setUp = HvdProgram.SETUP.line();
        found.addAll(Check.each(inventory, Diagnosis.NO_MPI, host -> mpi(host).obstacle(), setUp));
        found.addAll(Check.each(inventory, Diagnosis.OTHER_MPI, MpiCheck::otherMpi, setUp));
        found.addAll(Check.each(inventory, Diagnosis.NO_BINDINGS, MpiCheck::noBindings, setUp));
        found.addAll(Check.each(inventory, Diagnosis.WRONG_JAR, MpiCheck::wrongJar, "unset HVD_MPI_JAR && " + setUp));
        found.addAll(Check.same(
                inventory, Diagnosis.MPI_DIFFERS, "MPI", host -> mpi(host).version(), setUp));
        found.addAll(Check.each(inventory, Diagnosis.NO_DAEMON, MpiCheck::noDaemon, "apt-get install -y openmpi-bin"));
        return found;
    }

    private static Mpi mpi(Host host) {
        return host.facts().mpi();
    }

    private static String otherMpi(Host host) {
        Mpi mpi = mpi(host);
        return mpi.unusable().isEmpty() ? "" : mpi.mpirun() + " is " + mpi.version() + ": " + mpi.unusable();
    }

    private static String noBindings(Host host) {
        return mpi(host).needsJar() && !mpi(host).bindings() ? mpi(host).jarObstacle() : "";
    }

    private static String wrongJar(Host host) {
        return mpi(host).needsJar()
                        && mpi(host).bindings()
                        && host.facts().badSetting().isEmpty()
                        && mpi(host).jar().isEmpty()
                ? mpi(host).jarObstacle()
                : "";
    }

    /** This host needs none: mpirun is its daemon. */
    private static String noDaemon(Host host) {
        boolean needed = !host.here() && mpi(host).isUsable();
        return needed && mpi(host).daemonPath().isEmpty()
                ? mpi(host).daemon() + " is not on the PATH of a command that ssh runs there"
                : "";
    }
}
