package io.hvd.launch;

import io.hvd.config.Setting;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Every flag of horovodrun in one table: how it is written, what it means, what it does, its key in a config file. */
enum Flag {
    // hosts and ranks
    NUM_PROC("-np, --num-proc N", "number of ranks to start; in an LSF job its slots"),
    HOSTS("-H, --hosts a:2,b:2", "hosts and their slots (default: this machine)"),
    HOSTFILE("-hostfile, --hostfile FILE", "hosts, one per line: host slots=N"),
    SSH_PORT("-p, --ssh-port PORT", "ssh port of the hosts"),
    SSH_IDENTITY("-i, --ssh-identity-file FILE", "ssh key for the hosts"),
    START_TIMEOUT(
            "--start-timeout SECONDS",
            "limit for the check of the hosts, and for the ranks to find each other",
            sets(Setting.START_TIMEOUT)),
    DISABLE_CACHE("--disable-cache", "ask all hosts again, although they were found well within the last hour"),

    // the mpirun line
    NETWORK_INTERFACES("--network-interfaces eth0,eth1", "network interfaces to use"),
    NETWORK_INTERFACE("--network-interface eth0", "the same, one at a time; may be repeated"),
    TCP("--tcp", "TCP only, also where there is a faster network; NCCL too", sets("NCCL_IB_DISABLE", "1")),
    BINDING_ARGS("--binding-args \"...\"", "words for mpirun instead of --bind-to none --map-by slot"),
    MPI_ARGS("--mpi-args \"...\"", "words for mpirun itself; they win over ours", "library_options.mpi_args"),
    MPI_THREADS_DISABLE(
            "--mpi-threads-disable",
            "ask MPI for a single thread",
            sets(Setting.MPI_THREADS_DISABLE.variable(), "1"),
            "library_options.mpi_threads_disable"),
    NO_MPI_THREADS_DISABLE(
            "--no-mpi-threads-disable",
            "not so",
            sets(Setting.MPI_THREADS_DISABLE.variable(), "0"),
            "!library_options.mpi_threads_disable"),
    MPI("--mpi", "let MPI start the ranks, which it does anyway"),

    // output
    OUTPUT_FILENAME("--output-filename DIR", "also write DIR/rank.N/stdout and stderr, on the host of each rank"),
    PREFIX_TIMESTAMP(
            "-prefix-timestamp, --prefix-output-with-timestamp", "time, rank and stream before each line of output"),
    VERBOSE(
            "--verbose",
            "print the mpirun line with its reasons, then run it; every rank says where it runs",
            sets(Setting.SHOW_RANKS.variable(), "1")),
    LOG_LEVEL(
            "--log-level LEVEL",
            "TRACE, DEBUG, INFO, WARNING, ERROR or FATAL",
            sets(Setting.LOG_LEVEL),
            "logging.level"),
    LOG_WITH_TIMESTAMP(
            "--log-with-timestamp, --no-log-hide-timestamp",
            "log lines begin with the time",
            sets(Setting.LOG_HIDE_TIME.variable(), "0"),
            "!logging.hide_timestamp"),
    LOG_WITHOUT_TIMESTAMP(
            "--log-without-timestamp, --log-hide-timestamp",
            "they do not",
            sets(Setting.LOG_HIDE_TIME.variable(), "1"),
            "logging.hide_timestamp"),
    TIMELINE_FILENAME(
            "--timeline-filename FILE", "write a timeline of all ranks", sets(Setting.TIMELINE), "timeline.filename"),
    TIMELINE_MARK_CYCLES(
            "--timeline-mark-cycles",
            "mark the engine's cycles in it",
            sets(Setting.TIMELINE_MARK_CYCLES.variable(), "1"),
            "timeline.mark_cycles"),
    NO_TIMELINE_MARK_CYCLES(
            "--no-timeline-mark-cycles",
            "not so",
            sets(Setting.TIMELINE_MARK_CYCLES.variable(), "0"),
            "!timeline.mark_cycles"),

    // engine
    FUSION_THRESHOLD(
            "--fusion-threshold-mb MB",
            "MiB that one fused operation may hold; 0 switches fusion off",
            new MebibytesTo(Setting.FUSION_THRESHOLD),
            "params.fusion_threshold_mb"),
    CYCLE_TIME(
            "--cycle-time-ms MS",
            "milliseconds that an operation nobody waits for may be held back",
            sets(Setting.CYCLE_TIME),
            "params.cycle_time_ms"),
    CACHE_CAPACITY(
            "--cache-capacity N",
            "names of operations that the ranks remember; 0 remembers none",
            sets(Setting.CACHE_CAPACITY),
            "params.cache_capacity"),
    HIERARCHICAL_ALLREDUCE(
            "--hierarchical-allreduce",
            "between GPUs, reduce inside a host by NCCL and between hosts through MPI",
            sets(Setting.HIERARCHICAL_ALLREDUCE.variable(), "1"),
            "params.hierarchical_allreduce"),
    NO_HIERARCHICAL_ALLREDUCE(
            "--no-hierarchical-allreduce",
            "not so",
            sets(Setting.HIERARCHICAL_ALLREDUCE.variable(), "0"),
            "!params.hierarchical_allreduce"),
    HIERARCHICAL_ALLGATHER(
            "--hierarchical-allgather",
            "no effect",
            new NoEffect(Form.NONE, "hvd chooses by size whether an allgather goes in two levels"),
            "params.hierarchical_allgather"),
    NO_HIERARCHICAL_ALLGATHER(
            "--no-hierarchical-allgather",
            "nothing: hvd chooses by size",
            new AsItIs(),
            "!params.hierarchical_allgather"),
    TORUS_ALLREDUCE(
            "--torus-allreduce",
            "the same with NCCL between hosts too",
            sets(Setting.TORUS_ALLREDUCE.variable(), "1"),
            "params.torus_allreduce"),
    NO_TORUS_ALLREDUCE(
            "--no-torus-allreduce", "not so", sets(Setting.TORUS_ALLREDUCE.variable(), "0"), "!params.torus_allreduce"),
    NUM_NCCL_STREAMS(
            "--num-nccl-streams N",
            "no effect",
            new NoEffect(Form.NUMBER, "NCCL works on one stream"),
            "library_options.num_nccl_streams"),
    THREAD_AFFINITY(
            "--thread-affinity CORES",
            "no effect; a comma list of cores, one per local rank",
            new NoEffect(Form.CORES, "mpirun binds processes, a JVM cannot bind one thread; see --binding-args"),
            "library_options.thread_affinity"),

    // autotune
    AUTOTUNE("--autotune", "ask for tuning", sets(Setting.AUTOTUNE.variable(), "1"), "autotune.enabled"),
    NO_AUTOTUNE("--no-autotune", "not so", sets(Setting.AUTOTUNE.variable(), "0"), "!autotune.enabled"),
    AUTOTUNE_LOG_FILE(
            "--autotune-log-file FILE", "CSV of what tuning tries", sets(Setting.AUTOTUNE_LOG), "autotune.log_file"),
    AUTOTUNE_WARMUP_SAMPLES(
            "--autotune-warmup-samples N",
            "samples thrown away at first",
            sets(Setting.AUTOTUNE_WARMUP_SAMPLES),
            "autotune.warmup_samples"),
    AUTOTUNE_STEPS_PER_SAMPLE(
            "--autotune-steps-per-sample N",
            "steps that make a sample",
            sets(Setting.AUTOTUNE_STEPS_PER_SAMPLE),
            "autotune.steps_per_sample"),
    AUTOTUNE_MAX_SAMPLES(
            "--autotune-bayes-opt-max-samples N",
            "samples after which tuning ends",
            sets(Setting.AUTOTUNE_MAX_SAMPLES),
            "autotune.bayes_opt_max_samples"),
    AUTOTUNE_NOISE(
            "--autotune-gaussian-process-noise X",
            "noise expected of samples, from 0 to 1",
            sets(Setting.AUTOTUNE_NOISE),
            "autotune.gaussian_process_noise"),

    // stalls
    STALL_CHECK(
            "--stall-check",
            "name the ranks that others wait for, which is the default",
            sets(Setting.STALL_CHECK_DISABLE.variable(), "0"),
            "stall_check.enabled"),
    NO_STALL_CHECK(
            "--no-stall-check", "do not", sets(Setting.STALL_CHECK_DISABLE.variable(), "1"), "!stall_check.enabled"),
    STALL_WARNING(
            "--stall-check-warning-time-seconds S",
            "seconds of waiting after which they are named",
            sets(Setting.STALL_CHECK_TIME),
            "stall_check.warning_time_seconds"),
    STALL_SHUTDOWN(
            "--stall-check-shutdown-time-seconds S",
            "seconds of waiting after which the job ends; 0 waits for ever",
            sets(Setting.STALL_SHUTDOWN_TIME),
            "stall_check.shutdown_time_seconds"),

    // what hvd has not
    MIN_NP("--min-np, --min-num-proc N", Refused.ELASTIC),
    MAX_NP("--max-np, --max-num-proc N", Refused.ELASTIC),
    SLOTS_PER_HOST("--slots-per-host N", Refused.ELASTIC),
    ELASTIC_TIMEOUT("--elastic-timeout SECONDS", Refused.ELASTIC),
    RESET_LIMIT("--reset-limit N", Refused.ELASTIC),
    MAX_RESTARTS("--max-restarts N", Refused.ELASTIC),
    BLACKLIST_COOLDOWN_RANGE("--blacklist-cooldown-range MIN MAX", Refused.ELASTIC),
    HOST_DISCOVERY_SCRIPT("--host-discovery-script FILE", Refused.ELASTIC),
    GLOO("--gloo", new Refused("hvd has no Gloo: MPI starts the ranks and carries their tensors; leave the flag out")),
    GLOO_TIMEOUT(
            "--gloo-timeout-seconds N",
            "no effect",
            new NoEffect(Form.NUMBER, "hvd has no Gloo; see --start-timeout"),
            "library_options.gloo_timeout_seconds"),
    JSRUN("--jsrun", new Refused("mpirun starts the ranks, in an LSF job too; leave the flag out")),

    // horovodrun itself
    CONFIG_FILE("--config-file FILE", "YAML file with values for these flags; flags that are given win"),
    DRY_RUN("--dry-run", "print the mpirun line with its reasons, start nothing, ask no host"),
    CHECK_BUILD("-cb, --check-build", "print what this installation has"),
    VERSION("-v, --version", "print the version"),
    HELP("-h, --help", "print this");

    /** What a flag does. */
    sealed interface Effect {}

    /** Something of the launcher's own. */
    record OfLauncher() implements Effect {}

    /** Gives a variable of the ranks the value of the flag. */
    record ValueTo(Setting setting) implements Effect {}

    /** Gives a variable of the ranks the value of the flag, which is in mebibytes, in bytes. */
    record MebibytesTo(Setting setting) implements Effect {}

    /** Gives a variable of the ranks a fixed value. */
    record Constant(String variable, String value) implements Effect {}

    /** Asks for what is the case anyway. */
    record AsItIs() implements Effect {}

    /** Is accepted, with a note. */
    record NoEffect(Form form, String why) implements Effect {}

    /** Ends horovodrun before anything starts. */
    record Refused(String why) implements Effect {
        private static final Refused ELASTIC = new Refused("MPI cannot change the number of ranks of a running job,"
                + " and restarting a job with other hosts is not there yet; start it again with -np and its last"
                + " checkpoint");
    }

    /** What a value that has no effect must look like all the same. */
    enum Form {
        NONE,
        NUMBER,
        CORES
    }

    private final List<String> names;
    private final String spelling;
    private final String meaning;
    private final Effect effect;
    private final String key;

    Flag(String spelling, String meaning) {
        this(spelling, meaning, new OfLauncher(), "");
    }

    Flag(String spelling, String meaning, String key) {
        this(spelling, meaning, new OfLauncher(), key);
    }

    Flag(String spelling, Refused refused) {
        this(spelling, "refused: " + refused.why, refused, "");
    }

    Flag(String spelling, String meaning, Effect effect) {
        this(spelling, meaning, effect, "");
    }

    Flag(String spelling, String meaning, Effect effect, String key) {
        this.spelling = spelling;
        this.names = Arrays.stream(spelling.split(",? ", -1))
                .filter(word -> word.startsWith("-"))
                .toList();
        this.meaning = meaning;
        this.effect = effect;
        this.key = key;
    }

    private static Effect sets(Setting setting) {
        return new ValueTo(setting);
    }

    private static Effect sets(String variable, String value) {
        return new Constant(variable, value);
    }

    /** As in {@code -np} and {@code --num-proc}. */
    List<String> names() {
        return names;
    }

    /** The one to call it by in a message. */
    String name(int index) {
        return names.get(index);
    }

    /** All names, and what stands for the value. */
    String spelling() {
        return spelling;
    }

    boolean takesValue() {
        return !spelling.endsWith(names.get(names.size() - 1));
    }

    String meaning() {
        return meaning;
    }

    Effect effect() {
        return effect;
    }

    /** Section and name in a config file; a key of a switch that this flag turns off begins with an exclamation mark. */
    Optional<String> key() {
        return key.isEmpty() ? Optional.empty() : Optional.of(key);
    }
}
