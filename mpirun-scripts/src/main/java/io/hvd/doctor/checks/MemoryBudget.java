package io.hvd.doctor.checks;

import io.hvd.doctor.facts.Facts;
import io.hvd.doctor.facts.HostInventory;
import io.hvd.doctor.facts.HostInventory.Host;

/**
 * The memory that the ranks of a host may take, beside what there is.
 *
 * @param natives bytes outside the heap and hvd's buffers
 * @param total 0 if it is not known
 */
public record MemoryBudget(int ranks, long heap, long direct, long natives, long total) {

    /** The share of the memory that ranks may take; the system and other programs need the rest. */
    private static final double USABLE = 0.9;

    /** Heaps are named in such steps. */
    static final long LEAST_HEAP = 256 * Sizes.MIB;

    public static MemoryBudget of(HostInventory inventory, Host host) {
        Facts.Memory memory = host.facts().memory();
        return new MemoryBudget(
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
        return Math.max(0, heap / LEAST_HEAP * LEAST_HEAP);
    }

    public String text() {
        return ranks + " x (" + Sizes.of(heap) + " heap + " + Sizes.of(direct) + " direct + " + Sizes.of(natives)
                + " native) = " + Sizes.of(needed()) + " of " + Sizes.of(total);
    }

    /** The number of ranks with the smallest heap that fit, at least one. */
    long ranksThatFit() {
        return Math.max(1, (long) (total * USABLE) / (direct + natives + LEAST_HEAP));
    }
}
