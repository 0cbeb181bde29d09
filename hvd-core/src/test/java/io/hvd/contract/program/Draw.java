package io.hvd.contract.program;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Choices that follow from a seed alone. */
public final class Draw {
    private final SplittableRandom random;

    public Draw(long seed) {
        this.random = new SplittableRandom(mixed(seed));
    }

    /** Spreads a number over all bits, for values that depend on several numbers and on nothing else. */
    static long mixed(long number) {
        long mixed = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
        return mixed ^ (mixed >>> 31);
    }

    public static long mixed(long one, long other) {
        return mixed(mixed(one) + 0x9e3779b97f4a7c15L * (other + 1));
    }

    long seed() {
        return random.nextLong();
    }

    public int below(int bound) {
        return random.nextInt(bound);
    }

    /** Both ends may come. */
    public int between(int least, int most) {
        return least + random.nextInt(most - least + 1);
    }

    /** @param probability between 0 and 1 */
    public boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    @SafeVarargs
    final <T> T one(T... choices) {
        return choices[below(choices.length)];
    }

    <T> T one(List<T> choices) {
        return choices.get(below(choices.size()));
    }

    public <T> List<T> shuffled(List<T> items) {
        List<T> left = new ArrayList<>(items);
        List<T> shuffled = new ArrayList<>(items.size());
        while (!left.isEmpty()) {
            shuffled.add(left.remove(below(left.size())));
        }
        return shuffled;
    }

    /** At least so many of them, in their order. */
    <T> List<T> some(List<T> items, int atLeast) {
        int count = between(atLeast, items.size());
        List<T> chosen = shuffled(items).subList(0, count);
        return items.stream().filter(chosen::contains).toList();
    }

    /** All of these in one list, each in its own order, otherwise mixed. */
    <T> List<T> interleaved(List<List<T>> lists) {
        List<List<T>> left = new ArrayList<>();
        lists.stream().filter(list -> !list.isEmpty()).forEach(list -> left.add(new ArrayList<>(list)));
        List<T> all = new ArrayList<>();
        while (!left.isEmpty()) {
            List<T> from = one(left);
            all.add(from.remove(0));
            left.removeIf(List::isEmpty);
        }
        return all;
    }
}
