package io.hvd.config;

import java.nio.file.Path;
import java.util.Optional;

/**
 * The settings that horovodrun makes for its ranks, and its own.
 *
 * @param failureDirectory where ranks leave their failure records
 * @param address where a rank that does not see the folder sends its record
 * @param faultPlan what a test lets happen to ranks of an elastic job; usually empty
 * @param terminal whether horovodrun writes to a terminal
 * @param classArchive what horovodrun does about class-data archives
 */
public record LauncherSettings(
        Optional<Path> failureDirectory,
        Optional<String> address,
        String faultPlan,
        boolean terminal,
        ArchiveChoice classArchive) {

    /** The use of class-data archives for the programs that horovodrun starts. */
    public enum ArchiveChoice {
        /** It uses the one that is there, and has a missing one made after the job, without waiting for it. */
        AUTO,
        OFF,
        /** It waits for one that is made. */
        WAIT
    }

    static LauncherSettings from(SettingReader reader) {
        return new LauncherSettings(
                reader.path(Setting.FAILURE_DIR),
                reader.text(Setting.LAUNCHER_ADDRESS),
                reader.text(Setting.FAULT_PLAN).orElse(""),
                reader.flag(Setting.TERMINAL),
                reader.choice(Setting.CLASS_ARCHIVE, ArchiveChoice.class));
    }
}
