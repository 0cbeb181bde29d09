package io.hvd.monitor.diagnosis;

import java.util.ArrayList;
import java.util.List;

/**
 * Puts the unnamed calls of two ranks side by side, so that as few of them as possible have no partner or one from
 * another line. Two calls are partners if they come from one line; calls of different lines with the same counter may
 * be partners too, since a program may have one call in each of two branches.
 */
final class CallAlignment {
    /** The place of a pair that has no call on this side. */
    static final int NONE = -1;

    /** Calls of two lines under one name cost less than a call left out, which must bring more than one into line. */
    private static final int OTHER_LINE = 1;

    private static final int ALONE = 2;
    private static final int NEVER = 1 << 24;

    private final List<CallLabel> left;
    private final List<CallLabel> right;
    /** The cost of all that follows these places. */
    private final int[][] rest;

    private CallAlignment(List<CallLabel> left, List<CallLabel> right) {
        this.left = left;
        this.right = right;
        this.rest = new int[left.size() + 1][right.size() + 1];
    }

    /** Two calls side by side, as places in the two lists. */
    record Pair(int left, int right) {
        boolean isAlone() {
            return left == NONE || right == NONE;
        }
    }

    static List<Pair> of(List<CallLabel> left, List<CallLabel> right) {
        CallAlignment alignment = new CallAlignment(left, right);
        alignment.fill();
        return alignment.pairs();
    }

    private void fill() {
        for (int i = left.size(); i >= 0; i--) {
            for (int j = right.size(); j >= 0; j--) {
                rest[i][j] = Math.min(together(i, j), Math.min(leftAlone(i, j), rightAlone(i, j)));
            }
        }
    }

    private int together(int i, int j) {
        if (i == left.size() || j == right.size()) {
            return i == left.size() && j == right.size() ? 0 : NEVER;
        }
        return rest[i + 1][j + 1] + cost(left.get(i), right.get(j));
    }

    private int leftAlone(int i, int j) {
        return i == left.size() ? NEVER : rest[i + 1][j] + ALONE;
    }

    private int rightAlone(int i, int j) {
        return j == right.size() ? NEVER : rest[i][j + 1] + ALONE;
    }

    private static int cost(CallLabel one, CallLabel other) {
        if (one.isSameAs(other)) {
            return 0;
        }
        return one.counter() == other.counter() && one.mayMeet(other) ? OTHER_LINE : NEVER;
    }

    private List<Pair> pairs() {
        List<Pair> pairs = new ArrayList<>();
        int i = 0;
        int j = 0;
        while (i < left.size() || j < right.size()) {
            if (rest[i][j] == together(i, j)) {
                pairs.add(new Pair(i++, j++));
            } else if (rest[i][j] == leftAlone(i, j)) {
                pairs.add(new Pair(i++, NONE));
            } else {
                pairs.add(new Pair(NONE, j++));
            }
        }
        return pairs;
    }
}
