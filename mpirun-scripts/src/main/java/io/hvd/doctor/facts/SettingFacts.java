package io.hvd.doctor.facts;

import io.hvd.config.HvdConfig;
import io.hvd.config.RankFacts;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.transport.mpi.MpiProvider;
import java.util.Map;

/**
 * The facts of a host that follow from its settings. They are read in the order in which init does it, up to the first that is
 * wrong.
 *
 * @param values the values that ranks compare at init
 * @param bad the error in the settings, or empty
 * @param directBytes memory outside the heap that a rank takes for its buffers
 * @param jarObstacle the reason why there is no mpi.jar, or empty
 * @param bindings whether it is not for want of an Open MPI
 * @param foreign the library of MPI that this Java can call without mpi.jar, or empty
 */
record SettingFacts(
        Map<String, String> values,
        String bad,
        long directBytes,
        String jar,
        String jarObstacle,
        boolean bindings,
        String foreign) {

    static SettingFacts of(Map<String, String> environment) {
        Map<String, String> values = Map.of();
        long direct = 0;
        String foreign = "";
        try {
            HvdConfig config = HvdConfig.from(environment);
            values = RankFacts.gather(environment).values();
            direct = config.engine().fusionThresholdBytes() + config.memory().stageBytes();
            foreign = MpiProvider.byForeignFunctions(config).orElse("");
            return new SettingFacts(values, "", direct, MpiProvider.jar(config).toString(), "", true, foreign);
        } catch (HvdException e) {
            String bad = e.id() == ErrorId.BAD_SETTING ? e.getMessage() : "";
            return new SettingFacts(values, bad, direct, "", e.getMessage(), e.id() != ErrorId.NO_OPEN_MPI, foreign);
        }
    }
}
