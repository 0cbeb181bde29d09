package io.hvd.optimizer.agreement;

import io.hvd.ProcessSet;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The beginning of the names of one optimizer's tensors. Unless the program names it, it is the number of the optimizer among
 * those that this rank has built for the process set.
 *
 * <p>Ranks that build optimizers in different orders would number them differently, and then wait for each other's gradients
 * for ever. So the ranks compare the numbers before they wait for the first gradients, under a name that they have in common
 * all the same: that of one parameter which all ranks share.
 */
public record OptimizerScope(String prefix, boolean isNumbered) {
    static final String SETTING = "scope";

    private static final String DEFAULT = "gradient";

    public static OptimizerScope named(String prefix) {
        return new OptimizerScope(prefix + ".", false);
    }

    /** Every call takes the next number. */
    public static OptimizerScope numbered(ProcessSet set) {
        int number = set.forOptimizers().numberOf("optimizer");
        return new OptimizerScope(DEFAULT + (number == 1 ? "" : "#" + number) + ".", true);
    }

    /**
     * Where the ranks meet to compare the settings of their optimizers. With numbers, every call counts one more optimizer
     * that meets there, since all ranks last joined. The places are the two least hashes of names: ranks that share almost the same
     * parameters meet at one of them too, and learn that these differ, also if what differs is one of the two.
     *
     * @param parameters names of those that all ranks have in common
     */
    List<String> meetingPlaces(ProcessSet set, List<String> parameters) {
        if (!isNumbered) {
            return List.of(prefix + "optimizer.settings.");
        }
        return parameters.stream()
                .map(name -> hash(List.of(name)))
                .sorted()
                .limit(2)
                .map(hash -> "optimizer.settings." + Long.toHexString(hash))
                .map(place -> place + "."
                        + set.forOptimizers()
                                .numberOf(place + " after join "
                                        + set.forOptimizers().joins()) + ".")
                .toList();
    }

    /** Equal names in any order have one hash. */
    public static long hash(List<String> names) {
        CRC32C hash = new CRC32C();
        names.stream().sorted().forEach(name -> hash.update((name + '\n').getBytes(StandardCharsets.UTF_8)));
        return hash.getValue();
    }
}
