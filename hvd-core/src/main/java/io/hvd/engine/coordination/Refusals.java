package io.hvd.engine.coordination;

import io.hvd.engine.message.Batch;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The refusals of the plan that is being made: if one operation of a group is refused, so is the rest of the group. */
final class Refusals {
    /** The reasons, by the name of a group of which an operation has been refused. */
    private final Map<String, Why> groups = new HashMap<>();

    /** Why an operation is refused. */
    record Why(Batch.Reason reason, String error) {
        static Why of(Batch.Refusal refusal) {
            return new Why(refusal.reason(), refusal.error());
        }

        Batch.Refusal refusal(Tally tally) {
            return new Batch.Refusal(tally.name(), reason, error, tally.askers());
        }
    }

    /** Records that an operation of these groups is refused. */
    void spoil(Collection<String> names, Why why) {
        names.forEach(name -> groups.putIfAbsent(name, why));
    }

    /** Why an operation cannot go on, if an operation of its group is refused. */
    Optional<Why> spoiled(Tally tally) {
        return tally.groups().stream()
                .filter(groups::containsKey)
                .map(groups::get)
                .findFirst();
    }

    /**
     * Refuses the operations that only some ranks have put into a refused group, which can never become complete.
     *
     * @param gate forgets the groups
     * @param waiting loses the operations
     */
    List<Batch> rest(GroupGate gate, WaitingTallies waiting) {
        List<Batch> rest = new ArrayList<>();
        groups.forEach((group, why) -> gate.forget(group).forEach(tally -> rest.add(why.refusal(tally))));
        if (!groups.isEmpty()) {
            waiting.take(tally -> spoiled(tally).isPresent())
                    .forEach(tally -> rest.add(spoiled(tally).orElseThrow().refusal(tally)));
        }
        return rest;
    }
}
