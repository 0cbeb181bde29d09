package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import java.util.ArrayList;
import java.util.List;

/** Whether what the ranks of a host may take, heap and buffers and the rest, fits in its memory. */
public final class MemoryCheck implements Check {

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>();
        for (Host host : inventory.hosts()) {
            MemoryBudget budget = MemoryBudget.of(inventory, host);
            if (!budget.fits()) {
                found.add(new Finding(
                        inventory.heapBytes().isPresent() ? Diagnosis.HEAP_TOO_LARGE : Diagnosis.DEFAULT_HEAP,
                        List.of(host.name()),
                        budget.text(),
                        command(budget)));
            }
        }
        return found;
    }

    private static String command(MemoryBudget budget) {
        long heap = budget.heapThatFits();
        return heap > 0
                ? "java -Xmx" + heap / Sizes.MIB + "m -jar hvd-examples/target/train.jar"
                : HvdProgram.HOROVODRUN.line() + " -np " + budget.ranksThatFit() + " java -Xmx"
                        + MemoryBudget.LEAST_HEAP / Sizes.MIB + "m -jar hvd-examples/target/train.jar";
    }
}
