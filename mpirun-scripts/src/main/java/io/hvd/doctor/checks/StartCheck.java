package io.hvd.doctor.checks;

import io.hvd.doctor.facts.HostInventory;
import java.util.List;

/** Whether every host has the programs by which horovodrun starts ranks itself. */
final class StartCheck implements Check {

    @Override
    public List<Finding> findings(HostInventory inventory) {
        return Check.each(
                inventory,
                Diagnosis.NO_PROGRAM,
                host -> host.facts().absent().isEmpty()
                        ? ""
                        : String.join(", ", host.facts().absent())
                                + " not on the PATH of a command that is started there",
                "apt-get install -y coreutils grep util-linux");
    }
}
