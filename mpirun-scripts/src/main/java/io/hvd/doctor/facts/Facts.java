package io.hvd.doctor.facts;

import io.hvd.doctor.network.ListeningPort;
import io.hvd.transport.nccl.report.GpuReport;
import java.util.List;
import java.util.Map;

/**
 * The facts of a host, one record per area. They travel as JSON, so a value that is missing is empty and not optional.
 *
 * @param absent programs by which horovodrun starts ranks itself, and which are not on the PATH
 * @param values the values that ranks compare at init: settings, versions of hvd, Java and LibTorch
 * @param badSetting the error in the settings, or empty
 */
public record Facts(
        Mpi mpi,
        List<String> absent,
        Map<String, String> values,
        String badSetting,
        GpuReport gpu,
        Memory memory,
        Folders folders,
        Limits limits,
        Names names,
        Network network) {

    /** The facts of this host with the ports at which it listens. */
    public Facts at(List<ListeningPort> ports) {
        return new Facts(
                mpi,
                absent,
                values,
                badSetting,
                gpu,
                memory,
                folders,
                limits,
                names,
                new Network(network.interfaces(), network.used(), ports));
    }

    /**
     * @param mpirun empty if there is none
     * @param version such as "Open MPI 4.1.4"
     * @param obstacle why no mpirun can be used
     * @param unusable why no rank of hvd's starts under it with this Java; empty if ranks do
     * @param daemon what mpirun starts on other hosts: orted, prted or hydra_pmi_proxy
     * @param daemonPath where it is found when ssh starts it, or empty
     * @param jar the one of Open MPI's version, or empty
     * @param jarObstacle why there is none
     * @param bindings whether libmpi_java.so was found
     * @param foreign the library that this Java can call by foreign functions, so that no jar is needed; empty if it cannot
     */
    public record Mpi(
            String mpirun,
            String version,
            String obstacle,
            String unusable,
            String daemon,
            String daemonPath,
            String jar,
            String jarObstacle,
            boolean bindings,
            String foreign) {

        /** Whether ranks of hvd's start under it. */
        public boolean isUsable() {
            return obstacle.isEmpty() && unusable.isEmpty();
        }

        /** Whether hvd reaches it by mpi.jar alone. */
        public boolean needsJar() {
            return isUsable() && foreign.isEmpty();
        }
    }

    /**
     * In bytes.
     *
     * @param total the memory of the machine or of this container
     * @param heap how far a JVM's heap grows if nobody says otherwise
     * @param direct buffers that a rank of hvd takes at its settings
     */
    public record Memory(long total, long heap, long direct) {}

    /** @param sharedMemory /dev/shm; {@code cache} is where LibTorch is unpacked */
    public record Folders(Folder sharedMemory, Folder temporary, Folder cache) {}

    /** @param total bytes, as {@code free}; 0 where there is no such folder */
    public record Folder(String path, long total, long free, boolean writable) {}

    /**
     * The limits of a process; -1 stands for none.
     *
     * @param fabric the high-speed network found, or empty
     */
    public record Limits(long openFiles, long processes, long lockedMemory, int cores, String fabric) {}

    /**
     * @param hostname what the host calls itself
     * @param machine the same for two hosts only if they are one
     * @param resolved addresses of the host's own name and of the names on the host list, none if unknown
     */
    public record Names(String hostname, String machine, Map<String, List<String>> resolved) {}

    /**
     * @param interfaces all that are up, with their addresses of version 4
     * @param used names of those that are to carry data
     * @param ports where this host listens for the others
     */
    public record Network(List<Interface> interfaces, List<String> used, List<ListeningPort> ports) {}

    public record Interface(String name, List<String> addresses) {}
}
