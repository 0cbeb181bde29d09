package io.hvd.launch.direct;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The place of one rank in a job that the launcher starts itself.
 *
 * @param host its host by the name that the user has given
 * @param here whether that is this machine
 * @param localRank its number among the ranks of its host, of which there are {@code localSize}
 * @param crossRank the number of its host among those that have such a local rank, of which there are {@code crossSize}
 */
record PlannedRank(
        int rank, int size, String host, boolean here, int localRank, int localSize, int crossRank, int crossSize) {

    /** The variables that tell a rank its place, under Horovod's names. */
    Map<String, String> variables() {
        Map<String, String> variables = new LinkedHashMap<>();
        variables.put("HOROVOD_RANK", Integer.toString(rank));
        variables.put("HOROVOD_SIZE", Integer.toString(size));
        variables.put("HOROVOD_LOCAL_RANK", Integer.toString(localRank));
        variables.put("HOROVOD_LOCAL_SIZE", Integer.toString(localSize));
        variables.put("HOROVOD_CROSS_RANK", Integer.toString(crossRank));
        variables.put("HOROVOD_CROSS_SIZE", Integer.toString(crossSize));
        variables.put("HOROVOD_HOSTNAME", host);
        return variables;
    }
}
