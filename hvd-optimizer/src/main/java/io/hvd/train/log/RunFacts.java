package io.hvd.train.log;

import io.hvd.HvdContext;
import io.hvd.config.RankFacts;
import io.hvd.config.Setting;
import io.hvd.train.JsonCodec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The facts of a run card that are known before the first batch: the hosts, the devices, the versions and the settings. */
record RunFacts(String command, Map<String, String> versions, List<RankPlace> places) {
    /** The place of a rank. */
    record RankPlace(int rank, String host, long pid, String device) {}

    /** A collective. */
    static RunFacts gather(HvdContext hvd) {
        RankPlace mine = new RankPlace(
                hvd.rank(),
                hvd.hosts().get(hvd.rank()),
                ProcessHandle.current().pid(),
                hvd.devices().toString().replaceAll("[\\[\\]]", ""));
        List<RankPlace> places = hvd.allgatherObject("run.places", mine, JsonCodec.of(RankPlace.class));
        return new RunFacts(Secrets.hidden(System.getProperty("sun.java.command", "")), versions(hvd), places);
    }

    private static Map<String, String> versions(HvdContext hvd) {
        Map<String, String> versions = new TreeMap<>();
        RankFacts.gather(Map.of()).values().forEach((name, value) -> {
            if (name.endsWith("version") && !name.endsWith("major version")) {
                versions.put(name.replace(" version", ""), value);
            }
        });
        versions.put("back end", hvd.backend());
        versions.put("operating system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        return versions;
    }

    /** Settings by which horovodrun tells its ranks about themselves; they say nothing of the run. */
    private static final Set<Setting> OF_THE_LAUNCHER = Set.of(Setting.FAILURE_DIR, Setting.DECLARED_JOB);

    /** The settings that are not their defaults. Autotuning changes some of them while the run goes on. */
    static List<RunCard.SettingRow> settings(HvdContext hvd, Map<String, String> environment) {
        List<RunCard.SettingRow> rows = new ArrayList<>();
        for (Setting setting : Setting.values()) {
            String value = environment.getOrDefault(setting.variable(), "").trim();
            if (!value.isEmpty() && !OF_THE_LAUNCHER.contains(setting) && !setting.isSecret()) {
                rows.add(new RunCard.SettingRow(setting.variable(), value, "environment"));
            }
        }
        if (hvd.isOpen() && "1".equals(environment.get(Setting.AUTOTUNE.variable()))) {
            hvd.tunedSettings().forEach((name, value) -> {
                rows.removeIf(row -> row.name().equals(name));
                rows.add(new RunCard.SettingRow(name, value, "autotuning"));
            });
        }
        return rows;
    }
}
