package io.hvd.optimizer.guard;

import io.hvd.AllreduceOptions;
import io.hvd.ProcessSet;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.GradientArithmetic;
import io.hvd.optimizer.GradientSource;
import io.hvd.optimizer.Parameter;
import io.hvd.optimizer.gradients.FiniteScan;
import io.hvd.optimizer.precision.OverflowVote;
import io.hvd.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Refuses a step by gradients of which one is infinite or NaN, and names the parameter and the ranks that it comes from.
 *
 * <p>An average contains what is not finite on any rank, and is the same on all ranks, so they look at the averages and need not ask each
 * other. They do where gradients remain different, and where a reducer may leave elements out.
 */
public final class NonFiniteCheck {
    private static final int MOST_RANKS_NAMED = 4;

    private final ProcessSet set;
    private final List<Parameter> parameters;
    private final String scope;
    private final GradientArithmetic gradients;
    /** Null if all ranks see the same gradients. */
    private final OverflowVote vote;

    private final FiniteScan scan = new FiniteScan();
    /** By parameter, the first element of this rank's own gradient that is not finite before it was averaged, in words; null if there is none. */
    private final String[] own;

    private long steps;
    /** Null if the gradients of this step are finite. */
    private Found found;

    /**
     * @param average in words; null if it is finite on this rank
     * @param own what this rank has contributed, in words; empty if that is finite
     */
    private record Found(String average, String own) {}

    /** @param vote null if all ranks see the same gradients @param stepsBefore the number of steps in earlier generations */
    public NonFiniteCheck(
            ProcessSet set,
            List<Parameter> parameters,
            GradientArithmetic gradients,
            OverflowVote vote,
            String scope,
            long stepsBefore) {
        this.set = set;
        this.parameters = parameters;
        this.gradients = gradients;
        this.vote = vote;
        this.scope = scope;
        this.steps = stepsBefore;
        this.own = new String[parameters.size()];
    }

    /** Whether the ranks ask each other in every step. */
    boolean asks() {
        return vote != null;
    }

    /** The average is about to overwrite this rank's own gradient. */
    void leaving(int parameter) {
        own[parameter] =
                words(parameters.get(parameter), parameters.get(parameter).gradient());
    }

    /**
     * The gradients are those that the step will use. Every rank of the set comes here in the same step.
     *
     * @param source still has this rank's own gradients; null if {@link #leaving} has seen them
     */
    void look(GradientSource source) {
        int first = gradients.firstNonFinite();
        boolean mine = first >= 0 || (vote != null && ownInWords(source) != null);
        boolean anywhere = vote == null ? mine : vote.agree(mine, 1, 0, 0).overflow();
        if (anywhere) {
            String average = first < 0 ? null : inWords(parameters.get(first));
            String words = ownInWords(source);
            found = new Found(average, words != null ? words : "");
        }
        Arrays.fill(own, null);
    }

    /** Looks at gradients that are no average. */
    void lookAlone() {
        for (int i = 0; i < own.length; i++) {
            if (parameters.get(i).gradient().device().isCpu()) {
                leaving(i);
            }
        }
        look(null);
    }

    private String inWords(Parameter parameter) {
        String words = words(parameter, parameter.gradient());
        return words != null ? words : "\"" + parameter.name() + "\""; // on a GPU, or of sparse rows
    }

    /** Null if all are finite, or are no longer there. */
    private String ownInWords(GradientSource source) {
        String first = null;
        int more = 0;
        for (int i = 0; i < own.length; i++) {
            String words = source == null ? own[i] : ownOf(source, i);
            if (words != null && first != null) {
                more++;
            } else if (words != null) {
                first = words;
            }
        }
        return more == 0 ? first : first + ", and " + more + " more parameters";
    }

    private String ownOf(GradientSource source, int parameter) {
        return source.ownGradient(parameter)
                .map(gradient -> words(parameters.get(parameter), gradient))
                .orElse(null);
    }

    /** Null if it is finite, or is not in the host's memory. */
    private String words(Parameter parameter, Tensor gradient) {
        long first = gradient.device().isCpu() ? scan.first(gradient) : -1;
        return first < 0
                ? null
                : "\"" + parameter.name() + "\", element " + first + " of " + gradient.elements() + " is "
                        + scan.element(gradient, first);
    }

    /** Forgets the finding, because the program begins anew. */
    void forget() {
        found = null;
        Arrays.fill(own, null);
    }

    long steps() {
        return steps;
    }

    /** A step ends, whether it changes parameters or not. */
    void stepped() {
        steps++;
    }

    /**
     * Every rank of the set comes here before its step.
     *
     * @throws HvdException on all ranks, if a gradient of any of them is not finite
     */
    void requireFinite() {
        if (found == null) {
            return;
        }
        Found now = found;
        found = null;
        long step = steps++;
        List<String> ofRanks = set.included() && set.size() > 1 ? gathered(now.own) : List.of(now.own);
        throw new HvdException(
                ErrorId.NON_FINITE,
                "step " + step + ", counted from 0, was not made, because gradients are not finite"
                        + (now.average == null ? "" : ": " + now.average) + ". " + origin(ofRanks)
                        + " No parameter has been changed. Look at the loss and the batch of these ranks; a smaller learning rate"
                        + " or clipGradientNorm(max) may help, and refuseNonFinite(false) lets such steps pass");
    }

    private String origin(List<String> ofRanks) {
        List<Integer> places = IntStream.range(0, ofRanks.size())
                .filter(place -> !ofRanks.get(place).isEmpty())
                .boxed()
                .toList();
        if (places.isEmpty()) {
            return "The ranks' own gradients were finite before, unless they are sparse, of which no rank keeps its own: the sum"
                    + " has become too large, in the type in which gradients travel or in their own.";
        }
        StringBuilder words = new StringBuilder("Not finite before the average: ");
        places.stream()
                .limit(MOST_RANKS_NAMED)
                .forEach(place -> words.append("on rank ")
                        .append(set.ranks().get(set.size() == ofRanks.size() ? place : set.rank()))
                        .append(" ")
                        .append(ofRanks.get(place))
                        .append("; "));
        words.setLength(words.length() - 2);
        int others = places.size() - MOST_RANKS_NAMED;
        return words + (others > 0 ? "; and on " + others + " more ranks" : "") + ".";
    }

    /** The words of all ranks; empty of one that has joined, for which an allgather would not do. */
    private List<String> gathered(String mine) {
        byte[] bytes = mine.getBytes(StandardCharsets.UTF_8);
        int[] lengths = new int[set.size()];
        lengths[set.rank()] = bytes.length;
        set.allreduceInPlace(scope + "nonfinite.lengths", Tensor.of(lengths), AllreduceOptions.sum());
        int most = Math.max(1, Arrays.stream(lengths).max().orElse(1));
        int[] all = new int[set.size() * most];
        for (int i = 0; i < bytes.length; i++) {
            all[set.rank() * most + i] = bytes[i];
        }
        set.allreduceInPlace(scope + "nonfinite.words", Tensor.of(all), AllreduceOptions.sum());
        return IntStream.range(0, set.size())
                .mapToObj(rank -> text(all, rank * most, lengths[rank]))
                .toList();
    }

    private static String text(int[] all, int from, int length) {
        byte[] bytes = new byte[length];
        for (int i = 0; i < length; i++) {
            bytes[i] = (byte) all[from + i];
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
