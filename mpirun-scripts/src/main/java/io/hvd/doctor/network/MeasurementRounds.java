package io.hvd.doctor.network;

import java.util.ArrayList;
import java.util.List;

/**
 * Says which host measures which other one, and when: every host towards every other once, and never two measurements at
 * one host at a time.
 */
public final class MeasurementRounds {

    private MeasurementRounds() {}

    public record Pair(int from, int to) {}

    /**
     * A tournament: one host keeps its seat, the others move on by one seat from round to round; each round is
     * played twice, there and back.
     */
    public static List<List<Pair>> of(int hosts) {
        int seats = hosts + hosts % 2;
        List<List<Pair>> rounds = new ArrayList<>();
        for (int round = 0; round < seats - 1; round++) {
            List<Pair> there = new ArrayList<>();
            List<Pair> back = new ArrayList<>();
            for (int table = 0; table < seats / 2; table++) {
                int one = table == 0 ? seats - 1 : (round + table) % (seats - 1);
                int other = (round + seats - 1 - table) % (seats - 1);
                if (one < hosts && other < hosts) {
                    there.add(new Pair(one, other));
                    back.add(new Pair(other, one));
                }
            }
            rounds.add(List.copyOf(there));
            rounds.add(List.copyOf(back));
        }
        rounds.removeIf(List::isEmpty);
        return rounds;
    }
}
