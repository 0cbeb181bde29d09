package io.hvd.monitor.hang;

import io.hvd.monitor.view.Phrases;
import io.hvd.monitor.view.RankView;
import io.hvd.monitor.view.StackView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * The stacks of several ranks' threads as one tree: what they have in common is written once, and wherever ranks part it
 * is said which ranks are there and which are not.
 */
final class StackTree {
    private static final String INDENT = "  ";

    private final TreeSet<Integer> all = new TreeSet<>();
    private final Node root = new Node();

    private static final class Node {
        final TreeSet<Integer> ranks = new TreeSet<>();
        final Map<String, Node> callees = new LinkedHashMap<>();
    }

    private StackTree() {}

    /** The threads of the ranks that answer, with all their frames. */
    static List<String> inFull(Collection<RankView> views) {
        return of(views, StackView::frames);
    }

    /** The threads of the ranks that answer, with the program's own frames. */
    static List<String> ofTheProgram(Collection<RankView> views) {
        return of(views, StackView::framesOfTheProgram);
    }

    private static List<String> of(Collection<RankView> views, Function<StackView, List<String>> frames) {
        StackTree tree = new StackTree();
        views.forEach(view -> view.live().ifPresent(live -> tree.add(view.rank(), frames.apply(live.training()))));
        return tree.lines();
    }

    private void add(int rank, List<String> frames) {
        all.add(rank);
        Node node = root;
        node.ranks.add(rank);
        for (int i = frames.size() - 1; i >= 0; i--) {
            node = node.callees.computeIfAbsent(frames.get(i), frame -> new Node());
            node.ranks.add(rank);
        }
    }

    private List<String> lines() {
        List<String> lines = new ArrayList<>();
        write(lines, root, "");
        return lines;
    }

    /** Frames of the same ranks stand below each other; the tree goes deeper only where ranks part. */
    private void write(List<String> lines, Node node, String indent) {
        node.callees.forEach((frame, callee) -> {
            boolean parts = !callee.ranks.equals(node.ranks);
            lines.add(indent + frame + (parts || node == root ? where(callee) : ""));
            write(lines, callee, callee.callees.size() > 1 || ends(callee) ? indent + INDENT : indent);
        });
    }

    /** Whether the stack of some rank has no further frame. */
    private static boolean ends(Node node) {
        int deeper = node.callees.values().stream()
                .mapToInt(callee -> callee.ranks.size())
                .sum();
        return deeper < node.ranks.size();
    }

    private String where(Node node) {
        TreeSet<Integer> elsewhere = new TreeSet<>(all);
        elsewhere.removeAll(node.ranks);
        return "  [" + Phrases.ranks(node.ranks) + " here"
                + (elsewhere.isEmpty() ? "]" : " | " + Phrases.ranks(elsewhere) + " not here]");
    }
}
