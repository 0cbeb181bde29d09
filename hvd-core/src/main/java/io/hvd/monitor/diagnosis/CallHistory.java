package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.Activity;
import io.hvd.monitor.view.CallView;
import io.hvd.monitor.view.RankView;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The collectives of one process set that a rank has called and still remembers, in their order. Those before the last
 * {@code join()} are not among them, because the ranks may have called different numbers of them.
 *
 * @param whole whether it has all calls of the rank's life, or all since the last {@code join()}
 */
record CallHistory(int rank, List<CallView> calls, boolean whole) {
    /** The two ranks of a transfer call it alone, and a rank that closes waits for all sets together. */
    private static final Set<String> NOT_OF_A_SET = Set.of(CallView.TRANSFER, CallView.CLOSE);

    CallHistory {
        calls = List.copyOf(calls);
    }

    static CallHistory of(RankView view, int processSet) {
        List<CallView> known = known(view.activity());
        List<CallView> ofSet = known.stream()
                .filter(call -> call.key().processSet() == processSet)
                .filter(call -> !NOT_OF_A_SET.contains(call.key().kind()))
                .toList();
        int begin = afterLastJoin(ofSet);
        boolean whole = begin > 0 || (!known.isEmpty() && known.get(0).number() == 1);
        return new CallHistory(view.rank(), ofSet.subList(begin, ofSet.size()), whole);
    }

    /** The histories of all ranks that have told of calls in this set, by rank. */
    static Map<Integer, CallHistory> all(Collection<RankView> views, int processSet) {
        Map<Integer, CallHistory> all = new TreeMap<>();
        views.forEach(view -> all.put(view.rank(), of(view, processSet)));
        all.values().removeIf(history -> history.calls().isEmpty());
        return all;
    }

    /** A call that is still pending may be older than the last calls. */
    private static List<CallView> known(Activity activity) {
        Map<Long, CallView> byNumber = new LinkedHashMap<>();
        Stream.concat(activity.recent().stream(), activity.pending().stream())
                .sorted(Comparator.comparingLong(CallView::number))
                .forEach(call -> byNumber.put(call.number(), call));
        return List.copyOf(byNumber.values());
    }

    private static int afterLastJoin(List<CallView> calls) {
        int begin = 0;
        for (int i = 0; i < calls.size(); i++) {
            if (calls.get(i).key().isJoin() && !calls.get(i).isPending()) {
                begin = i + 1;
            }
        }
        return begin;
    }

    /** The last call before the one of this number. */
    Optional<CallView> before(long number) {
        return calls.stream().filter(call -> call.number() < number).reduce((first, second) -> second);
    }

    /** The calls after the one of this number. */
    List<CallView> after(long number) {
        return calls.stream().filter(call -> call.number() > number).toList();
    }

    long first() {
        return calls.get(0).number();
    }
}
