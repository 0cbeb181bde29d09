package io.hvd.monitor.view;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/** Makes what the pure classes look at. */
public final class Views {
    static final int SIZE = 4;

    private static final List<Integer> ALL = IntStream.range(0, SIZE).boxed().toList();

    private Views() {}

    /** An allreduce that every rank is a member of. */
    public static CallView call(String name, long submittedAgo) {
        return call("allreduce", name, submittedAgo);
    }

    public static CallView call(String kind, String name, long submittedAgo) {
        return call(new CallView.Key(0, kind, name), ALL, submittedAgo, CallView.NOT_YET);
    }

    public static CallView begun(String name, long submittedAgo, long startedAgo) {
        return call(new CallView.Key(0, "allreduce", name), ALL, submittedAgo, startedAgo);
    }

    public static CallView call(CallView.Key key, List<Integer> members, long submittedAgo, long startedAgo) {
        String site = "Train." + key.name() + "(Train.java:42)";
        return new CallView(
                submittedAgo, key, "float32 [3]", members, site, submittedAgo, startedAgo, CallView.NOT_YET, "");
    }

    public static CallView ended(String name, long endedAgo) {
        return new CallView(
                1,
                new CallView.Key(0, "allreduce", name),
                "float32 [3]",
                ALL,
                "Train.step(Train.java:7)",
                endedAgo + 5,
                endedAgo + 3,
                endedAgo,
                "");
    }

    public static RankProcess member(int rank) {
        return new RankProcess(rank, "node" + rank, 1000 + rank, 5, "machine" + rank);
    }

    /** Waits inside hvd. */
    public static RankView waits(int rank, CallView... pending) {
        Activity activity = new Activity(List.of(pending), List.of(pending), PhaseView.NONE);
        return answers(rank, activity, stack("Train.wait(Train.java:" + (100 + rank) + ")", true));
    }

    /** Waits inside hvd in its last calls, those that are pending. */
    public static RankView waitsAfter(int rank, List<CallView> calls) {
        Activity activity =
                new Activity(calls.stream().filter(CallView::isPending).toList(), calls, PhaseView.NONE);
        return answers(rank, activity, stack("Train.wait(Train.java:" + (100 + rank) + ")", true));
    }

    /** Is in the user's code, whatever is under way. */
    public static RankView elsewhere(int rank, PhaseView phase, CallView... recent) {
        Activity activity = new Activity(
                List.of(recent).stream().filter(CallView::isPending).toList(), List.of(recent), phase);
        return answers(rank, activity, stack("Loader.read(Loader.java:" + (10 + rank) + ")", false));
    }

    public static RankView silent(int rank, ProcessState state, long heardAgo, CallView... published) {
        Activity activity = new Activity(
                List.of(published).stream().filter(CallView::isPending).toList(), List.of(published), PhaseView.NONE);
        return RankView.silent(member(rank), state, activity, heardAgo);
    }

    private static RankView answers(int rank, Activity activity, StackView training) {
        StackView communication =
                new StackView("hvd-engine", "RUNNABLE", "MpiCollectives.allReduce(native)", true, "    at x\n");
        return new RankView(
                member(rank),
                ProcessState.ANSWERS,
                activity,
                0,
                Optional.of(new LiveReport(
                        activity, training, communication, new Stillness("", rank), "others\n", "  heap\n")));
    }

    private static StackView stack(String place, boolean insideHvd) {
        return new StackView("main", "WAITING", place, insideHvd, "    at " + place + "\n");
    }
}
