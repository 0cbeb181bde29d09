package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import java.util.Optional;
import java.util.SortedSet;

/**
 * The first call of a set at which the ranks have parted.
 *
 * @param teller the calls of a rank that has made it
 * @param without the ranks that have not made it
 * @param words what happened, as a clause after "then"
 */
record CallDivergence(CallHistory teller, CallView call, SortedSet<Integer> without, String words) {

    /** Says up to where the ranks made the same calls, and then what happened. */
    String sentence() {
        Optional<CallView> last = teller.before(call.number());
        if (last.isEmpty()) {
            return "the ranks parted at their first call: " + words;
        }
        String from = teller.whole()
                ? ""
                : " from call " + teller.first() + ", the first that rank " + teller.rank() + " remembers,";
        return "the ranks made the same calls" + from + " up to call "
                + last.get().number() + " of rank " + teller.rank() + "; then " + words;
    }
}
