package io.hvd.doctor.checks;

import io.hvd.config.RankFacts;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;

/** Whether the ranks of all hosts would take each other's settings, versions and classes at init. */
final class JavaCheck implements Check {

    private static final String ABSENT = "none";

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>(Check.each(
                inventory, Diagnosis.BAD_SETTING, host -> host.facts().badSetting(), "env | grep -E HVD_\\|HOROVOD_"));
        for (String key : keys(inventory)) {
            boolean harmless = key.equals(RankFacts.JAVA);
            found.addAll(Check.same(
                    inventory,
                    harmless ? Diagnosis.JAVA_DIFFERS : Diagnosis.CODE_DIFFERS,
                    key,
                    host -> value(host, key),
                    harmless ? "java -version" : "rsync -a $PWD/ " + last(inventory) + ":$PWD"));
        }
        return found;
    }

    private static String last(HostInventory inventory) {
        return inventory.hosts().get(inventory.hosts().size() - 1).name();
    }

    private static SortedSet<String> keys(HostInventory inventory) {
        SortedSet<String> keys = new TreeSet<>();
        inventory.hosts().forEach(host -> keys.addAll(host.facts().values().keySet()));
        return keys;
    }

    /** A host with a bad setting has told nothing else. */
    private static String value(Host host, String key) {
        return host.facts().badSetting().isEmpty() ? host.facts().values().getOrDefault(key, ABSENT) : "";
    }
}
