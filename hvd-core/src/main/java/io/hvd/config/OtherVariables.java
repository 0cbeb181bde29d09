package io.hvd.config;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Variables that Horovod knows and hvd has no setting for. Some are accepted without effect, some are
 * refused because the user would get something else than was asked for; a name that neither knows is
 * a typing error, unless it is a link to a service whose name begins like hvd's settings.
 */
final class OtherVariables {
    /** @param idle the value that asks for nothing, so that it needs no note */
    private record NoEffect(String idle, String why) {}

    /** @param accepted the only value that hvd can comply with; for a switch, off */
    private record Refused(String accepted, String why) {}

    private static final Map<String, NoEffect> NO_EFFECT = Map.ofEntries(
            Map.entry(
                    "HOROVOD_HIERARCHICAL_ALLGATHER",
                    new NoEffect("0", "hvd chooses by size whether an allgather goes in two levels")),
            Map.entry("HOROVOD_BATCH_D2D_MEMCOPIES", new NoEffect("1", "tensors on GPUs are not copied for fusion")),
            Map.entry("HOROVOD_NUM_NCCL_STREAMS", new NoEffect("1", "NCCL works on one stream")),
            Map.entry("HOROVOD_DISABLE_NVTX_RANGES", new NoEffect("0", "hvd marks no NVTX ranges")),
            Map.entry("HOROVOD_CCL_CACHE", new NoEffect("0", "hvd has no oneCCL")),
            Map.entry(
                    "HOROVOD_ADASUM_MPI_CHUNK_SIZE", new NoEffect("", "hvd gives each rank one piece of all tensors")),
            Map.entry("HOROVOD_THREAD_AFFINITY", new NoEffect("", "mpirun binds processes; see its --bind-to")),
            Map.entry(
                    "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE",
                    new NoEffect("0.8", "hvd measures the noise of its samples")),
            Map.entry("HOROVOD_ELASTIC_TIMEOUT", new NoEffect("600", "the ranks of a job stay the same")));

    private static final Map<String, Refused> REFUSED = Map.of(
            "HOROVOD_ENABLE_XLA_OPS", new Refused("0", "there is no TensorFlow on the JVM that hvd could serve"),
            "HOROVOD_ELASTIC", new Refused("0", "MPI cannot change the number of ranks of a running job"));

    private static final Set<String> SET_BY_LAUNCHERS = Set.of(
            "HOROVOD_HOSTNAME",
            "HOROVOD_RANK",
            "HOROVOD_SIZE",
            "HOROVOD_LOCAL_RANK",
            "HOROVOD_LOCAL_SIZE",
            "HOROVOD_CROSS_RANK",
            "HOROVOD_CROSS_SIZE",
            "HOROVOD_GLOO_RENDEZVOUS_ADDR",
            "HOROVOD_GLOO_RENDEZVOUS_PORT",
            "HOROVOD_SECRET_KEY",
            "HOROVOD_SPARK_START_TIMEOUT",
            "HOROVOD_SPARK_USE_LOCAL_RANK_GPU_INDEX",
            "HOROVOD_SPARK_WORK_DIR");

    /**
     * Variables for building a Horovod, or of an image that has one, which may be on the same machine; hvd chooses at
     * run time.
     */
    private static final Set<String> BUILD_TIME = Stream.of(
                    Stream.of("GLOO", "MPI", "PYTORCH", "TENSORFLOW", "MXNET")
                            .flatMap(part -> Stream.of("WITH_" + part, "WITHOUT_" + part)),
                    Stream.of("OPERATIONS", "ALLREDUCE", "ALLGATHER", "BROADCAST", "ALLTOALL", "REDUCESCATTER")
                            .map(part -> "GPU_" + part),
                    Stream.of("NCCL", "CUDA", "ROCM", "RCCL", "NVTX", "MPI", "DDL", "CCL")
                            .flatMap(library ->
                                    Stream.of("HOME", "INCLUDE", "LIB", "LINK").map(part -> library + "_" + part)),
                    Stream.of("GPU", "MPICXX_SHOW", "ALLOW_MIXED_GPU_IMPL", "BUILD_ARCH_FLAGS", "BUILD_CUDA_CC_LIST"),
                    Stream.of("CMAKE", "DEBUG", "VERSION", "LOCAL_VERSION"))
            .flatMap(names -> names)
            .map(name -> "HOROVOD_" + name)
            .collect(Collectors.toUnmodifiableSet());

    private OtherVariables() {}

    /**
     * Checks every variable whose name begins with a prefix of hvd's or Horovod's.
     *
     * @return a sentence for each one that is set to no effect, in the order of their names
     * @throws HvdException if one is unknown or asks for what hvd cannot do
     */
    static List<String> check(Map<String, String> environment) {
        Set<String> known = known();
        Map<String, String> ours = new TreeMap<>();
        environment.forEach((name, value) -> {
            if (isOurs(name) && !ServiceLinks.isOne(name, value, environment)) {
                ours.put(name, value.trim());
            }
        });
        List<String> notes = new ArrayList<>();
        ours.forEach((name, value) -> {
            if (!known.contains(name)) {
                throw unknown(name, known);
            }
            refuse(name, value);
            note(name, value).ifPresent(notes::add);
        });
        return notes;
    }

    /** Whether a name has a prefix of hvd's or Horovod's, whoever has set it. */
    static boolean isOurs(String name) {
        return name.startsWith("HOROVOD_") || name.startsWith("HVD_");
    }

    /** Whether a launcher of ranks sets the variable for one of them. */
    static boolean isLaunchers(String name) {
        return SET_BY_LAUNCHERS.contains(name)
                || Stream.of(
                                Setting.RENDEZVOUS,
                                Setting.DECLARED_JOB,
                                Setting.LAUNCHER_ADDRESS,
                                Setting.FAILURE_DIR,
                                Setting.FAULT_PLAN,
                                Setting.TERMINAL)
                        .anyMatch(setting -> setting.variable().equals(name));
    }

    static Set<String> known() {
        Set<String> known = new TreeSet<>(BUILD_TIME);
        known.addAll(SET_BY_LAUNCHERS);
        known.addAll(NO_EFFECT.keySet());
        known.addAll(REFUSED.keySet());
        for (Setting setting : Setting.values()) {
            known.add(setting.variable());
        }
        return known;
    }

    private static HvdException unknown(String name, Set<String> known) {
        return new HvdException(
                ErrorId.BAD_SETTING,
                name + " is set, but there is no such setting"
                        + Suggestion.nearest(name, known)
                                .map(near -> "; did you mean " + near + "?")
                                .orElse("; unset it; docs/reference/settings.md lists all there are"));
    }

    private static void refuse(String name, String value) {
        Refused refused = REFUSED.get(name);
        if (refused != null && !value.isEmpty() && !same(refused.accepted, value)) {
            throw new HvdException(
                    ErrorId.BAD_SETTING,
                    name + " is \"" + value + "\", hvd accepts " + refused.accepted + " only: " + refused.why);
        }
    }

    private static Optional<String> note(String name, String value) {
        NoEffect noEffect = NO_EFFECT.get(name);
        return noEffect == null || value.isEmpty() || same(noEffect.idle, value)
                ? Optional.empty()
                : Optional.of(name + "=" + value + " is accepted and has no effect: " + noEffect.why);
    }

    /** Off may be written in several ways, words in any case. */
    private static boolean same(String expected, String value) {
        return expected.equalsIgnoreCase(value)
                || (Switches.parse(expected).isPresent()
                        && Switches.parse(expected).equals(Switches.parse(value)));
    }
}
