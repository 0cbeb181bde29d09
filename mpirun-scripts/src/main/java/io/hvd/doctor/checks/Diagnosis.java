package io.hvd.doctor.checks;

import static io.hvd.doctor.checks.Severity.ERROR;
import static io.hvd.doctor.checks.Severity.NOTE;
import static io.hvd.doctor.checks.Severity.WARNING;

/** Everything that hvd-doctor can find, each with a number that stays, and the one cause that it stands for. */
public enum Diagnosis {
    NO_MPI(
            "D01",
            Area.MPI,
            ERROR,
            "there is no mpirun here that hvd knows; horovodrun --gloo and HVD_RENDEZVOUS need none"),
    OTHER_MPI("D02", Area.MPI, ERROR, "mpirun belongs to an MPI on which hvd does not run"),
    NO_BINDINGS("D03", Area.MPI, ERROR, "Open MPI lacks the native half of its Java bindings, libmpi_java.so"),
    WRONG_JAR("D04", Area.MPI, ERROR, "mpi.jar is missing or of another version than Open MPI"),
    MPI_DIFFERS("D05", Area.MPI, ERROR, "the hosts have different versions of Open MPI"),
    NO_DAEMON(
            "D06",
            Area.MPI,
            ERROR,
            "mpirun's daemon is not on the PATH that ssh gives to a command, which no login file has changed"),

    NO_PROGRAM("D07", Area.START, WARNING, "a program is missing by which horovodrun starts ranks without MPI"),

    CODE_DIFFERS(
            "D10",
            Area.JAVA,
            ERROR,
            "the hosts run different versions of hvd, Java or LibTorch, and the ranks refuse each other at init"),
    JAVA_DIFFERS("D11", Area.JAVA, WARNING, "the hosts have different releases of one Java version"),
    BAD_SETTING("D12", Area.JAVA, ERROR, "a variable for hvd does not exist or cannot have its value"),

    NO_GPU("D20", Area.GPU, NOTE, "no GPU can be used; tensors lie in host memory"),
    FEW_GPUS("D21", Area.GPU, ERROR, "there are more ranks than GPUs on a host"),
    GPUS_DIFFER("D22", Area.GPU, WARNING, "the hosts have different GPUs, or other versions of what drives them"),
    NO_NCCL("D23", Area.GPU, WARNING, "NCCL cannot be used; tensors on GPUs go through host memory"),

    HEAP_TOO_LARGE(
            "D30",
            Area.MEMORY,
            ERROR,
            "the heap that was asked for does not fit in memory as often as there are ranks"),
    DEFAULT_HEAP(
            "D31",
            Area.MEMORY,
            WARNING,
            "the JVM's default heap, a quarter of the memory, does not fit as often as there are ranks"),

    SMALL_SHM(
            "D40",
            Area.SHM,
            WARNING,
            "/dev/shm is too small for the ranks of a host, which then exchange data more slowly; NCCL may fail"),
    NO_SHM("D41", Area.SHM, ERROR, "/dev/shm is not there, or cannot be written"),

    OPEN_FILES("D50", Area.LIMITS, WARNING, "the limit of open files is low for JVMs that talk to each other"),
    PROCESSES("D51", Area.LIMITS, WARNING, "the limit of processes, which counts threads, is low for so many JVMs"),
    LOCKED_MEMORY("D52", Area.LIMITS, WARNING, "InfiniBand and its like need locked memory, which is limited"),
    FEW_CORES("D53", Area.LIMITS, WARNING, "there are more ranks than cores on a host"),
    NO_TMP("D54", Area.LIMITS, ERROR, "the folder for temporary files cannot be written"),
    FULL_CACHE(
            "D55",
            Area.LIMITS,
            WARNING,
            "there is no room in the folder into which LibTorch is unpacked at the first start"),
    FEW_FILES("D56", Area.LIMITS, ERROR, "the limit of open files is below what mpirun or a rank needs to start"),

    SAME_NAME(
            "D60",
            Area.NAMES,
            ERROR,
            "two hosts have one name; ranks would take each other for neighbours on one host"),
    SAME_HOST("D61", Area.NAMES, ERROR, "two names of the host list lead to one machine"),
    OWN_NAME("D62", Area.NAMES, WARNING, "a host cannot resolve its own name"),
    UNKNOWN_NAME("D63", Area.NAMES, WARNING, "a host cannot resolve the name of another"),
    OTHER_ADDRESS("D64", Area.NAMES, WARNING, "a name leads to different addresses on different hosts"),

    NOT_REACHED("D70", Area.HOSTS, ERROR, "ssh does not get in without a question"),
    NO_DOCTOR("D71", Area.HOSTS, ERROR, "hvd is not at the same path on the other host, or not built there"),
    NO_JAVA("D72", Area.HOSTS, ERROR, "there is no java on the PATH of the other host"),
    NO_ANSWER("D73", Area.HOSTS, ERROR, "hvd-doctor started on the other host and did not finish its work"),
    ONE_NODE(
            "D74",
            Area.HOSTS,
            NOTE,
            "horovodrun takes all nodes of this Slurm job; without -H only this one has been looked at"),

    NO_INTERFACE("D80", Area.NETWORK, ERROR, "a host has none of the network interfaces that are to be used"),
    NO_CONNECTION("D81", Area.NETWORK, ERROR, "a firewall or a route keeps one host from connecting to another"),
    ONE_WAY_CLOSED(
            "D82",
            Area.NETWORK,
            WARNING,
            "of the addresses of a host some do not answer another host, and Open MPI may choose them"),
    SLOW_LINK("D83", Area.NETWORK, WARNING, "the connection carries less than 1 Gbit/s; gradients will wait for it"),
    LONG_WAY("D84", Area.NETWORK, WARNING, "a small message takes more than a millisecond there and back"),

    CLOCKS_DIFFER(
            "D90",
            Area.CLOCK,
            WARNING,
            "clocks differ, so that times of failures and log lines of the hosts cannot be compared"),

    SELF_TEST_FAILED("D95", Area.SELF_TEST, ERROR, "an allreduce of two ranks did not come out right");

    private final String number;
    private final Area area;
    private final Severity severity;
    private final String cause;

    Diagnosis(String number, Area area, Severity severity, String cause) {
        this.number = number;
        this.area = area;
        this.severity = severity;
        this.cause = cause;
    }

    /** As in {@code HVD-D04}. */
    public String id() {
        return "HVD-" + number;
    }

    public Area area() {
        return area;
    }

    public Severity severity() {
        return severity;
    }

    public String cause() {
        return cause;
    }
}
