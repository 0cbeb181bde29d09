package io.hvd.config;

/**
 * The behaviour of the process around the training.
 *
 * @param uncaughtHandler whether a thread that ends by an exception ends the job
 * @param showRanks whether every rank says at init where it runs
 * @param log what is logged, and in which form
 */
public record ProcessSettings(boolean uncaughtHandler, boolean showRanks, LogSettings log) {
    static ProcessSettings from(SettingReader reader) {
        return new ProcessSettings(
                reader.flag(Setting.UNCAUGHT_HANDLER), reader.flag(Setting.SHOW_RANKS), LogSettings.from(reader));
    }

    ProcessSettings withoutUncaughtHandler() {
        return new ProcessSettings(false, showRanks, log);
    }
}
