package io.hvd.config;

/**
 * The checks of optimizers, and the threads of the libraries that compute.
 *
 * @param threadsPerRank CPU threads of LibTorch and OpenBLAS; 0 for the rank's share of the cores
 * @param divergenceSteps between two comparisons of the ranks' parameters; 0 for none
 * @param refuseNonFinite whether steps by gradients that are not finite are refused
 */
public record TrainingSettings(int threadsPerRank, int divergenceSteps, boolean refuseNonFinite) {
    private static final int MOST_THREADS = 1_000_000;

    static TrainingSettings from(SettingReader reader) {
        return new TrainingSettings(
                reader.between(Setting.THREADS, 0, MOST_THREADS),
                reader.between(Setting.DIVERGENCE_STEPS, 0, Integer.MAX_VALUE),
                reader.flag(Setting.REFUSE_NON_FINITE));
    }
}
