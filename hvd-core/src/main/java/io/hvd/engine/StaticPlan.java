package io.hvd.engine;

import io.hvd.engine.Plan.Batch;
import io.hvd.engine.Plan.Verdict;
import io.hvd.tensor.Device;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A step that every rank carries out on its own, batch by batch, without asking anybody: the ranks
 * meet in the data plane. A rank that is asked for anything else must veto the next batch, which takes
 * all ranks back to negotiating.
 */
final class StaticPlan {
    private final List<List<String>> batches;
    /** The batches, to be carried out. */
    private final List<Batch> runs;

    private final Map<String, Integer> batchOf = new HashMap<>();
    private final Map<String, Request> requests;
    private final List<Set<String>> here = new ArrayList<>();
    private int next;
    private boolean left;

    /**
     * @param requests this rank's, by name, as they have been in every step
     * @param ranks that take part
     */
    StaticPlan(List<List<String>> batches, Map<String, Request> requests, int ranks) {
        this.runs = batches.stream()
                .map(names -> new Batch(
                        names.stream().map(Plan.Op::named).toList(),
                        Verdict.RUN,
                        "",
                        List.of(),
                        List.of(),
                        ranks,
                        false))
                .toList();
        this.batches = batches;
        this.requests = requests;
        for (int i = 0; i < batches.size(); i++) {
            here.add(new HashSet<>());
            for (String name : batches.get(i)) {
                batchOf.put(name, i);
            }
        }
    }

    /** The program has submitted an operation. */
    void submitted(Request request) {
        Integer batch = batchOf.get(request.name());
        if (batch == null || !requests.get(request.name()).equals(request) || beginsStepTooEarly(batch)) {
            left = true;
        } else {
            here.get(batch).add(request.name());
        }
    }

    /** An operation of a batch that has been passed belongs to the next step; if this one is not complete, it never will be. */
    private boolean beginsStepTooEarly(int batch) {
        return batch < next
                && IntStream.range(next, batches.size())
                        .anyMatch(i -> here.get(i).size() < batches.get(i).size());
    }

    /** The rank wants something that is not planned. */
    void leave() {
        left = true;
    }

    boolean isLeft() {
        return left;
    }

    /** Whether the whole of the next batch has been submitted. */
    boolean isDue() {
        return !left && missing() == 0;
    }

    /** Operations of the next batch that have not been submitted. */
    int missing() {
        return batches.get(next).size() - here.get(next).size();
    }

    /** Whether nothing has been submitted that is still to be carried out. */
    boolean isIdle() {
        for (Set<String> batch : here) {
            if (!batch.isEmpty()) {
                return false;
            }
        }
        return true;
    }

    boolean isAtLastBatch() {
        return next == batches.size() - 1;
    }

    List<String> next() {
        return batches.get(next);
    }

    Batch nextBatch() {
        return runs.get(next);
    }

    /** The device of all tensors of the next batch. */
    Device nextDevice() {
        return requests.get(next().get(0)).device();
    }

    /** All of a step. */
    List<List<String>> batches() {
        return batches;
    }

    List<Request> nextRequests() {
        return next().stream().map(requests::get).toList();
    }

    /** Operations that have been carried out in this step, by the name of a group of which others have not. */
    Map<String, Set<String>> begunGroups() {
        Map<String, Set<String>> begun = new HashMap<>();
        batches.subList(0, next).stream().flatMap(List::stream).forEach(name -> {
            Request.Group group = requests.get(name).group();
            begun.computeIfAbsent(group.name(), key -> new HashSet<>()).add(name);
        });
        Set<String> unfinished = batches.subList(next, batches.size()).stream()
                .flatMap(List::stream)
                .map(name -> requests.get(name).group())
                .filter(group -> !group.isNone())
                .map(Request.Group::name)
                .collect(Collectors.toSet());
        begun.keySet().retainAll(unfinished);
        return begun;
    }

    /** The next batch has been carried out. */
    void advance() {
        here.get(next).clear();
        next = (next + 1) % batches.size();
    }
}
