package io.hvd.launch.options;

import io.hvd.config.Setting;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** All flags of horovodrun. Each has its spelling, its line in the help, its effect and its key in a config file. */
public enum Flag {
    // hosts and ranks
    NUM_PROC("-np, --num-proc N", "Number of ranks to start. In an LSF job the default is the job's number of slots."),
    HOSTS("-H, --hosts a:2,b:2", "Hosts and the number of slots on each. The default is this machine."),
    HOSTFILE("-hostfile, --hostfile FILE", "File that names one host per line, as in: host slots=N"),
    SSH_PORT("-p, --ssh-port PORT", "Port of the ssh server on the hosts."),
    SSH_IDENTITY("-i, --ssh-identity-file FILE", "Private key with which ssh logs in to the hosts."),
    START_TIMEOUT(
            "--start-timeout SECONDS",
            "Seconds for the check of the hosts, and again for the ranks to find each other.",
            sets(Setting.START_TIMEOUT)),
    GLOO_TIMEOUT(
            "--gloo-timeout-seconds N",
            "The same where --start-timeout is not given.",
            sets(Setting.GLOO_TIMEOUT),
            "library_options.gloo_timeout_seconds"),
    DISABLE_CACHE("--disable-cache", "Check all hosts again, even those that passed the check within the last hour."),

    // elastic jobs
    MIN_NP(
            "--min-np, --min-num-proc N",
            "Ranks with which the job goes on when others are lost. It makes the job elastic. The default is -np."),
    MAX_NP("--max-np, --max-num-proc N", "Ranks to which the job grows. It makes the job elastic. The default is -np."),
    SLOTS_PER_HOST("--slots-per-host N", "Slots of a host for which the script for discovery gives none."),
    ELASTIC_TIMEOUT(
            "--elastic-timeout SECONDS", "Seconds for which too few ranks wait for others. The default is 600."),
    RESET_LIMIT("--reset-limit N", "How often the ranks of the job may change. The default is no limit."),
    BLACKLIST_COOLDOWN_RANGE(
            "--blacklist-cooldown-range MIN MAX",
            "Seconds after which a slot is used again whose rank has failed; they double with each failure."),
    HOST_DISCOVERY_SCRIPT(
            "--host-discovery-script FILE",
            "Program that prints the hosts that there are, one in a line: host or host:slots. It makes the job elastic."),
    ELASTIC_COORDINATOR(
            "--elastic-coordinator PORT",
            "Start nothing, and coordinate at this port the elastic job of ranks that others start, with HVD_RENDEZVOUS=elastic=host:PORT and the same HVD_SECRET."),

    // a job that is started again
    RESTARTS(
            "--restarts, --max-restarts N",
            "Start the job again when it has failed, N times at most, on the hosts that are left. With it --min-np and --max-np say how many ranks it may have then."),

    // the mpirun line
    NETWORK_INTERFACES("--network-interfaces eth0,eth1", "Network interfaces to use."),
    NETWORK_INTERFACE("--network-interface eth0", "One network interface to use. The flag may be repeated."),
    TCP(
            "--tcp",
            "Use TCP only, even where there is a faster network. This applies to NCCL too.",
            sets("NCCL_IB_DISABLE", "1")),
    BINDING_ARGS("--binding-args \"...\"", "Arguments for mpirun that replace --bind-to none --map-by slot."),
    MPI_ARGS(
            "--mpi-args \"...\"",
            "Further arguments for mpirun. They win over those that horovodrun sets.",
            "library_options.mpi_args"),
    MPI_THREADS_DISABLE(
            "--mpi-threads-disable",
            "Ask MPI for MPI_THREAD_SINGLE.",
            sets(Setting.MPI_THREADS_DISABLE.variable(), "1"),
            "library_options.mpi_threads_disable"),
    NO_MPI_THREADS_DISABLE(
            "--no-mpi-threads-disable",
            "Turn off --mpi-threads-disable.",
            sets(Setting.MPI_THREADS_DISABLE.variable(), "0"),
            "!library_options.mpi_threads_disable"),
    NO_CLASS_ARCHIVE("--no-class-archive", "Neither use nor make a class-data archive of the program."),
    NO_JVM_FLAGS(
            "--no-jvm-flags",
            "Give java no flags, neither for ranks that share the cores of this machine nor for native libraries."),
    GLOO(
            "--gloo",
            "Start the ranks without MPI, by ssh on other hosts; their data travels over TCP and shared memory.",
            sets(Setting.CONTROLLER.variable(), "gloo")),
    MPI(
            "--mpi",
            "Start the ranks with mpirun. This is the default where there is one.",
            sets(Setting.CONTROLLER.variable(), "mpi")),

    // output
    OUTPUT_FILENAME(
            "--output-filename DIR", "Also write the output of each rank to DIR/rank.N/stdout and stderr on its host."),
    PREFIX_TIMESTAMP(
            "-prefix-timestamp, --prefix-output-with-timestamp",
            "Begin each line of output with its time, rank and stream."),
    PREFIX_RANK(
            "--prefix-output-with-rank",
            "Begin each line that a rank prints by System.out or System.err with the rank, as in [3].",
            sets(Setting.PREFIX_RANK.variable(), "1")),
    VERBOSE(
            "--verbose",
            "Print the mpirun line with its reasons, then run it. Every rank reports where it runs.",
            sets(Setting.SHOW_RANKS.variable(), "1")),
    LOG_LEVEL(
            "--log-level LEVEL",
            "Level of hvd's log: TRACE, DEBUG, INFO, WARNING, ERROR or FATAL. The default is WARNING, with a few INFO lines.",
            sets(Setting.LOG_LEVEL),
            "logging.level"),
    LOG_WITH_TIMESTAMP(
            "--log-with-timestamp, --no-log-hide-timestamp",
            "Begin each log line with the time.",
            sets(Setting.LOG_HIDE_TIME.variable(), "0"),
            "!logging.hide_timestamp"),
    LOG_WITHOUT_TIMESTAMP(
            "--log-without-timestamp, --log-hide-timestamp",
            "Leave the time out of log lines.",
            sets(Setting.LOG_HIDE_TIME.variable(), "1"),
            "logging.hide_timestamp"),
    TIMELINE_FILENAME(
            "--timeline-filename FILE",
            "Write a timeline of all ranks to FILE.",
            sets(Setting.TIMELINE),
            "timeline.filename"),
    TIMELINE_MARK_CYCLES(
            "--timeline-mark-cycles",
            "Mark the engine's cycles in the timeline.",
            sets(Setting.TIMELINE_MARK_CYCLES.variable(), "1"),
            "timeline.mark_cycles"),
    NO_TIMELINE_MARK_CYCLES(
            "--no-timeline-mark-cycles",
            "Turn off --timeline-mark-cycles.",
            sets(Setting.TIMELINE_MARK_CYCLES.variable(), "0"),
            "!timeline.mark_cycles"),

    // engine
    FUSION_THRESHOLD(
            "--fusion-threshold-mb MB",
            "Largest size of a fused operation, in MiB. 0 turns fusion off.",
            new FlagEffect.MebibytesTo(Setting.FUSION_THRESHOLD),
            "params.fusion_threshold_mb"),
    CYCLE_TIME(
            "--cycle-time-ms MS",
            "How many milliseconds an operation may be held back for fusion if no thread waits for it.",
            sets(Setting.CYCLE_TIME),
            "params.cycle_time_ms"),
    CACHE_CAPACITY(
            "--cache-capacity N",
            "Number of operation names that the ranks remember. 0 turns the cache off.",
            sets(Setting.CACHE_CAPACITY),
            "params.cache_capacity"),
    HIERARCHICAL_ALLREDUCE(
            "--hierarchical-allreduce",
            "Reduce GPU tensors with NCCL inside each host and with MPI between hosts.",
            sets(Setting.HIERARCHICAL_ALLREDUCE.variable(), "1"),
            "params.hierarchical_allreduce"),
    NO_HIERARCHICAL_ALLREDUCE(
            "--no-hierarchical-allreduce",
            "Turn off --hierarchical-allreduce. Without GPUs, all ranks of all hosts reduce at once.",
            sets(Setting.HIERARCHICAL_ALLREDUCE.variable(), "0"),
            "!params.hierarchical_allreduce"),
    HIERARCHICAL_ALLGATHER(
            "--hierarchical-allgather",
            "This flag has no effect: hvd chooses by size.",
            new FlagEffect.NoEffect(
                    FlagEffect.Form.NONE, "hvd chooses by size whether an allgather goes in two levels"),
            "params.hierarchical_allgather"),
    NO_HIERARCHICAL_ALLGATHER(
            "--no-hierarchical-allgather",
            "This flag has no effect: hvd chooses by size.",
            new FlagEffect.AsItIs(),
            "!params.hierarchical_allgather"),
    TORUS_ALLREDUCE(
            "--torus-allreduce",
            "Reduce GPU tensors in two levels, with NCCL inside each host and between hosts.",
            sets(Setting.TORUS_ALLREDUCE.variable(), "1"),
            "params.torus_allreduce"),
    NO_TORUS_ALLREDUCE(
            "--no-torus-allreduce",
            "Turn off --torus-allreduce.",
            sets(Setting.TORUS_ALLREDUCE.variable(), "0"),
            "!params.torus_allreduce"),
    NUM_NCCL_STREAMS(
            "--num-nccl-streams N",
            "This flag has no effect: NCCL works on one stream.",
            new FlagEffect.NoEffect(FlagEffect.Form.NUMBER, "NCCL works on one stream"),
            "library_options.num_nccl_streams"),
    THREAD_AFFINITY(
            "--thread-affinity CORES",
            "This flag has no effect. CORES is a comma list with one core per local rank.",
            new FlagEffect.NoEffect(
                    FlagEffect.Form.CORES, "mpirun binds processes, a JVM cannot bind one thread; see --binding-args"),
            "library_options.thread_affinity"),

    // autotune
    AUTOTUNE(
            "--autotune",
            "Look for better settings while the program trains: fusion threshold, cycle time, bucket size, way between hosts.",
            sets(Setting.AUTOTUNE.variable(), "1"),
            "autotune.enabled"),
    NO_AUTOTUNE("--no-autotune", "Turn off --autotune.", sets(Setting.AUTOTUNE.variable(), "0"), "!autotune.enabled"),
    AUTOTUNE_LOG_FILE(
            "--autotune-log-file FILE",
            "CSV file for the samples that autotuning takes.",
            sets(Setting.AUTOTUNE_LOG),
            "autotune.log_file"),
    AUTOTUNE_WARMUP_SAMPLES(
            "--autotune-warmup-samples N",
            "Number of first samples that autotuning does not use.",
            sets(Setting.AUTOTUNE_WARMUP_SAMPLES),
            "autotune.warmup_samples"),
    AUTOTUNE_STEPS_PER_SAMPLE(
            "--autotune-steps-per-sample N",
            "Fewest steps in each sample.",
            sets(Setting.AUTOTUNE_STEPS_PER_SAMPLE),
            "autotune.steps_per_sample"),
    AUTOTUNE_MAX_SAMPLES(
            "--autotune-bayes-opt-max-samples N",
            "Most samples for the search of each setting.",
            sets(Setting.AUTOTUNE_MAX_SAMPLES),
            "autotune.bayes_opt_max_samples"),
    AUTOTUNE_NOISE(
            "--autotune-gaussian-process-noise X",
            "This flag has no effect: hvd measures the noise of its samples.",
            new FlagEffect.NoEffect(FlagEffect.Form.FRACTION, "hvd measures the noise of its samples"),
            "autotune.gaussian_process_noise"),

    // stalls
    STALL_CHECK(
            "--stall-check",
            "Report the ranks that other ranks are waiting for. This is the default.",
            sets(Setting.STALL_CHECK_DISABLE.variable(), "0"),
            "stall_check.enabled"),
    NO_STALL_CHECK(
            "--no-stall-check",
            "Turn off --stall-check.",
            sets(Setting.STALL_CHECK_DISABLE.variable(), "1"),
            "!stall_check.enabled"),
    STALL_WARNING(
            "--stall-check-warning-time-seconds S",
            "Seconds of waiting after which the missing ranks are reported.",
            sets(Setting.STALL_CHECK_TIME),
            "stall_check.warning_time_seconds"),
    STALL_SHUTDOWN(
            "--stall-check-shutdown-time-seconds S",
            "Seconds of waiting after which the job ends. 0 lets it wait for ever.",
            sets(Setting.STALL_SHUTDOWN_TIME),
            "stall_check.shutdown_time_seconds"),

    // what hvd has not
    JSRUN(
            "--jsrun",
            new FlagEffect.Refused(
                    "horovodrun starts the ranks by mpirun or ssh, in an LSF job too; leave the flag out")),

    // horovodrun itself
    CONFIG_FILE(
            "--config-file FILE",
            "YAML file with values for these flags. Flags on the command line win over the file."),
    DRY_RUN("--dry-run", "Print what would be started, with reasons. Nothing is started and no host is contacted."),
    CHECK_BUILD("-cb, --check-build", "Print which features this installation has."),
    VERSION("-v, --version", "Print the version."),
    HELP("-h, --help", "Print this help.");

    private final List<String> names;
    private final String spelling;
    private final String meaning;
    private final FlagEffect effect;
    private final String key;

    Flag(String spelling, String meaning) {
        this(spelling, meaning, new FlagEffect.OfLauncher(), "");
    }

    Flag(String spelling, String meaning, String key) {
        this(spelling, meaning, new FlagEffect.OfLauncher(), key);
    }

    Flag(String spelling, FlagEffect.Refused refused) {
        this(spelling, "refused: " + refused.why(), refused, "");
    }

    Flag(String spelling, String meaning, FlagEffect effect) {
        this(spelling, meaning, effect, "");
    }

    Flag(String spelling, String meaning, FlagEffect effect, String key) {
        this.spelling = spelling;
        this.names = Arrays.stream(spelling.split(",? ", -1))
                .filter(word -> word.startsWith("-"))
                .toList();
        this.meaning = meaning;
        this.effect = effect;
        this.key = key;
    }

    private static FlagEffect sets(Setting setting) {
        return new FlagEffect.ValueTo(setting);
    }

    private static FlagEffect sets(String variable, String value) {
        return new FlagEffect.Constant(variable, value);
    }

    /** All names of the flag with their dashes, for example {@code -np} and {@code --num-proc}. */
    List<String> names() {
        return names;
    }

    /** The name at this index of {@link #names()}, for use in a message. */
    String name(int index) {
        return names.get(index);
    }

    /** All names and the placeholder of the value, as the help prints them. */
    String spelling() {
        return spelling;
    }

    boolean takesValue() {
        return !spelling.endsWith(names.get(names.size() - 1));
    }

    String meaning() {
        return meaning;
    }

    FlagEffect effect() {
        return effect;
    }

    /** Section and name in a config file. A leading exclamation mark means that the flag turns the switch off. */
    Optional<String> key() {
        return key.isEmpty() ? Optional.empty() : Optional.of(key);
    }
}
