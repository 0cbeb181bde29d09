package io.hvd.transport.nccl;

import io.hvd.config.GpuSettings;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.nccl.natives.NcclVariables;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Decides whether NCCL can be used, from what all ranks have found out about their GPUs. Every rank has the facts of all ranks and
 * therefore comes to the same answer.
 *
 * @param all the facts of all ranks, by rank
 * @param hosts the ranks' hosts by rank, for messages
 */
record NcclChoice(List<NcclFacts> all, List<String> hosts) {
    /** True if CUDA shows a GPU to some rank. */
    boolean hasGpus() {
        return all.stream().anyMatch(facts -> !facts.gpus().isEmpty());
    }

    /** The ranks to which CUDA shows no GPU. */
    Set<Integer> withoutGpu() {
        return IntStream.range(0, all.size())
                .filter(rank -> all.get(rank).gpus().isEmpty())
                .boxed()
                .collect(Collectors.toSet());
    }

    /** Tells which ranks are threads of one process. */
    RankProcesses processes() {
        return RankProcesses.of(all);
    }

    /** Throws if a rank cannot go on, or if two ranks got the same GPU without having been allowed to. */
    void requireSound(boolean sharing) {
        for (int rank = 0; rank < all.size(); rank++) {
            if (!all.get(rank).error().isEmpty()) {
                throw new HvdException(
                        ErrorId.NO_DEVICE, place(rank) + ": " + all.get(rank).error());
            }
        }
        requireAsMany();
        requireSameWays();
        Optional<String> shared = sharedGpu();
        if (shared.isPresent() && !sharing) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    shared.get() + ". Give every rank its own (HVD_PIN_GPU, CUDA_VISIBLE_DEVICES), or set"
                            + " HVD_SHARE_GPU=1");
        }
    }

    /**
     * The reason why ranks do not open their GPUs, if there is one. If a program chooses its GPUs itself and all of
     * them are visible to every rank, each rank would open a context on the first GPU, and could not use hvd on the GPU
     * that the program has chosen.
     */
    Optional<String> whyNotOpened(GpuSettings settings) {
        return settings.pin() || settings.share()
                ? Optional.empty()
                : sharedGpu()
                        .map(shared -> "with HVD_PIN_GPU=0 " + shared
                                + "; show every rank its own alone by CUDA_VISIBLE_DEVICES, or set HVD_SHARE_GPU=1");
    }

    /** Throws unless all ranks with GPUs have the same number: the n-th GPUs of all ranks form a communicator. */
    private void requireAsMany() {
        Map<Integer, List<Integer>> ranks = new TreeMap<>();
        for (int rank = 0; rank < all.size(); rank++) {
            int gpus = all.get(rank).gpus().size();
            if (gpus > 0) {
                ranks.computeIfAbsent(gpus, count -> new ArrayList<>()).add(rank);
            }
        }
        if (ranks.size() > 1) {
            throw new HvdException(
                    ErrorId.NO_DEVICE,
                    "the ranks have different numbers of GPUs each: "
                            + ranks.entrySet().stream()
                                    .map(entry -> entry.getKey() + " on ranks " + entry.getValue())
                                    .collect(Collectors.joining("; "))
                            + ". HVD_GPUS_PER_RANK or InitOptions.withGpusPerRank must say the same everywhere");
        }
    }

    /** Throws if settings differ. Otherwise the ranks would make different communicators and wait for each other. */
    private void requireSameWays() {
        if (all.stream().map(NcclFacts::ways).distinct().count() > 1) {
            throw new HvdException(
                    ErrorId.DIFFERENT_SETTINGS,
                    "the ranks were started with different settings of HOROVOD_HIERARCHICAL_ALLREDUCE,"
                            + " HOROVOD_TORUS_ALLREDUCE or HVD_GPU_STAGE_BYTES: "
                            + differing(NcclFacts::ways).orElse(""));
        }
    }

    /** The reason why hvd cannot reach tensors on some rank's GPU; empty if it can. */
    Optional<String> unreached() {
        return differing(NcclFacts::unreached);
    }

    /**
     * The reason why NCCL cannot be used; empty if it can.
     *
     * @param insisted true if the settings ask for NCCL by name; then ranks that share a GPU may try it, if NCCL's own
     *     variables allow that
     */
    Optional<String> obstacle(boolean insisted) {
        Optional<String> missing = differing(NcclFacts::missing).or(this::unreached);
        if (missing.isPresent()) {
            return missing;
        }
        if (all.stream().map(NcclFacts::nccl).distinct().count() > 1) {
            return differing(NcclFacts::nccl).map(versions -> "the ranks have different versions of NCCL: " + versions);
        }
        Optional<String> shared = insisted ? Optional.empty() : sharedGpu();
        return shared.map(ranks ->
                        ranks + ", which NCCL refuses unless all ranks have NCCL_MULTI_RANK_GPU_ENABLE=1 (from NCCL "
                                + NcclVariables.firstWithMultiRank() + " on) or each has its own NCCL_HOSTID; set"
                                + " HVD_BACKEND=nccl to try it")
                .or(this::sameToNccl);
    }

    private Optional<String> sharedGpu() {
        return samePlace(NcclFacts::machine)
                .map(pair -> place(pair.first) + " and " + place(pair.second) + " have the same GPU, " + pair.gpu);
    }

    /**
     * A message about two ranks that NCCL takes for ranks on the same GPU, if there are any and NCCL is not told to
     * allow them. NCCL tells hosts apart by NCCL_HOSTID if it is set, and would refuse such ranks one by one with an
     * error number only.
     */
    private Optional<String> sameToNccl() {
        boolean allowed = NcclVariables.multiRankIsKnownTo(all.get(0).nccl())
                && withVariables(NcclVariables::sharing).size() == all.size();
        if (allowed) {
            return Optional.empty();
        }
        return samePlace(facts -> facts.variables().hostId().isEmpty()
                        ? facts.machine()
                        : facts.variables().hostId())
                .map(pair -> {
                    String id = all.get(pair.second).variables().hostId();
                    return "to NCCL " + place(pair.first) + " and " + place(pair.second) + " have the same GPU, "
                            + pair.gpu + ", since NCCL_HOSTID is "
                            + (id.isEmpty() ? "not set there" : "\"" + id + "\" on both") + howToShare();
                });
    }

    /** How ranks get NCCL to share a GPU, which depends on its version. Every rank asks its own variable. */
    private String howToShare() {
        String ownId = "every rank with its own, such as NCCL_HOSTID=rank$OMPI_COMM_WORLD_RANK";
        String version = all.get(0).nccl();
        if (NcclVariables.multiRankIsKnownTo(version)) {
            return "; start all ranks with NCCL_MULTI_RANK_GPU_ENABLE=1, which ranks "
                    + withVariables(variables -> !variables.sharing()) + " do not have, or " + ownId;
        }
        return (withVariables(NcclVariables::sharing).isEmpty()
                        ? ""
                        : "; NCCL " + version + " does not know NCCL_MULTI_RANK_GPU_ENABLE, which needs NCCL "
                                + NcclVariables.firstWithMultiRank() + " or newer")
                + "; start " + ownId;
    }

    /** The ranks whose variables of NCCL satisfy the condition. */
    private List<Integer> withVariables(Predicate<NcclVariables> such) {
        return IntStream.range(0, all.size())
                .filter(rank -> such.test(all.get(rank).variables()))
                .boxed()
                .toList();
    }

    /** Two ranks and the GPU that both of them have. */
    private record Pair(int first, int second, String gpu) {}

    /** The first two ranks that have a GPU of the same PCI id on the same machine, as {@code machine} names it. */
    private Optional<Pair> samePlace(Function<NcclFacts, String> machine) {
        Map<String, Integer> owners = new LinkedHashMap<>();
        for (int rank = 0; rank < all.size(); rank++) {
            NcclFacts facts = all.get(rank);
            for (String gpu : facts.gpus()) {
                Integer owner = owners.putIfAbsent(machine.apply(facts) + " " + gpu, rank);
                if (owner != null && owner != rank) {
                    return Optional.of(new Pair(owner, rank, gpu));
                }
            }
        }
        return Optional.empty();
    }

    /** The values that are not empty, each with its ranks; empty if there are none. */
    private Optional<String> differing(Function<NcclFacts, String> field) {
        Map<String, List<Integer>> ranks = new LinkedHashMap<>();
        for (int rank = 0; rank < all.size(); rank++) {
            String value = field.apply(all.get(rank));
            if (!value.isEmpty()) {
                ranks.computeIfAbsent(value, v -> new ArrayList<>()).add(rank);
            }
        }
        return ranks.entrySet().stream()
                .map(entry -> entry.getKey() + " on ranks " + entry.getValue())
                .reduce((a, b) -> a + "; " + b);
    }

    private String place(int rank) {
        return "rank " + rank + " (" + hosts.get(rank) + ")";
    }
}
