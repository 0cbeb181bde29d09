package io.hvd.transport.nccl.natives;

import java.util.Map;

/**
 * The variables by which NCCL itself decides whether two ranks may have the same GPU.
 *
 * @param hostId the value of NCCL_HOSTID, by which NCCL tells hosts apart; empty if it is not set
 * @param multiRank the value of NCCL_MULTI_RANK_GPU_ENABLE, which allows ranks of one host to share a GPU; empty if it is
 *     not set
 */
public record NcclVariables(String hostId, String multiRank) {
    public static final String HOST_ID = "NCCL_HOSTID";
    public static final String MULTI_RANK = "NCCL_MULTI_RANK_GPU_ENABLE";
    public static final NcclVariables NONE = new NcclVariables("", "");

    /** The first version of NCCL that knows NCCL_MULTI_RANK_GPU_ENABLE. */
    private static final int FIRST_WITH_MULTI_RANK = 23000;

    public static NcclVariables of(Map<String, String> environment) {
        return new NcclVariables(environment.getOrDefault(HOST_ID, ""), environment.getOrDefault(MULTI_RANK, ""));
    }

    /** True if this version of NCCL reads NCCL_MULTI_RANK_GPU_ENABLE; others ignore it. */
    public static boolean multiRankIsKnownTo(String version) {
        return NcclCodes.code(version) >= FIRST_WITH_MULTI_RANK;
    }

    public static String firstWithMultiRank() {
        return NcclCodes.version(FIRST_WITH_MULTI_RANK);
    }

    /** True if ranks of one host may share a GPU. NCCL reads the value as a number, so that "true" means no. */
    public boolean sharing() {
        try {
            return !multiRank.isEmpty() && Long.decode(multiRank) != 0;
        } catch (NumberFormatException e) {
            return false;
        }
    }
}
