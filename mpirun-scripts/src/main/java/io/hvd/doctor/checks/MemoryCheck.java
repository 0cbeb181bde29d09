package io.hvd.doctor.checks;

import io.hvd.config.HvdProgram;
import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;
import java.util.ArrayList;
import java.util.List;

/** Whether what the ranks of a host may take, heap and buffers and the rest, fits in its memory. */
public final class MemoryCheck implements Check {

    /** The share of the memory that ranks may take; the system and other programs need the rest. */
    private static final double USABLE = 0.9;

    private static final long STEP = 256 * Sizes.MIB;

    /** @param natives bytes outside the heap and hvd's buffers */
    public record Budget(int ranks, long heap, long direct, long natives, long total) {

        public static Budget of(HostInventory inventory, Host host) {
            Facts.Memory memory = host.facts().memory();
            return new Budget(
                    host.ranks(),
                    inventory.heapBytes().orElse(memory.heap()),
                    memory.direct(),
                    inventory.nativeBytes(),
                    memory.total());
        }

        long needed() {
            return ranks * (heap + direct + natives);
        }

        boolean fits() {
            return total == 0 || needed() <= total;
        }

        /** The largest heap that leaves a tenth free, in steps that are easy to read; 0 if none does. */
        long heapThatFits() {
            long heap = (long) (total * USABLE) / Math.max(1, ranks) - direct - natives;
            return Math.max(0, heap / STEP * STEP);
        }

        public String text() {
            return ranks + " x (" + Sizes.of(heap) + " heap + " + Sizes.of(direct) + " direct + " + Sizes.of(natives)
                    + " native) = " + Sizes.of(needed()) + " of " + Sizes.of(total);
        }
    }

    @Override
    public List<Finding> findings(HostInventory inventory) {
        List<Finding> found = new ArrayList<>();
        for (Host host : inventory.hosts()) {
            Budget budget = Budget.of(inventory, host);
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

    private static String command(Budget budget) {
        long heap = budget.heapThatFits();
        return heap > 0
                ? "java -Xmx" + heap / Sizes.MIB + "m -jar hvd-examples/target/train.jar"
                : HvdProgram.HOROVODRUN.line() + " -np "
                        + Math.max(1, (long) (budget.total * USABLE) / (budget.direct + budget.natives + STEP))
                        + " java -Xmx" + STEP / Sizes.MIB + "m -jar hvd-examples/target/train.jar";
    }
}
