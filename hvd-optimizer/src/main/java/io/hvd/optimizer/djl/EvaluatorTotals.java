package io.hvd.optimizer.djl;

import ai.djl.training.evaluator.Evaluator;
import io.hvd.AllreduceOptions;
import io.hvd.HvdContext;
import io.hvd.ObjectCodec;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Tensor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The totals of evaluators over all ranks. DJL's evaluators keep sums and numbers of samples in maps by the name of an
 * accumulator, so that each sum is added up over the ranks before a quotient is formed: whole numbers exactly, others with one rounding.
 */
final class EvaluatorTotals {
    private record Total(String name, Map<String, Number> map, Number value) {}

    private final HvdContext hvd;

    EvaluatorTotals(HvdContext hvd) {
        this.hvd = hvd;
    }

    /**
     * A collective: puts the sums of all ranks into every rank's evaluators.
     *
     * @param keys names of accumulators
     * @throws HvdException on all ranks, if they have different evaluators
     */
    void merge(List<Evaluator> evaluators, List<String> keys) {
        for (String key : keys) {
            List<Total> totals = new ArrayList<>();
            evaluators.forEach(evaluator -> collect(evaluator, key, totals));
            requireSame(key, totals);
            if (hvd.size() > 1 && !totals.isEmpty()) {
                merge(key, totals);
            }
        }
    }

    private static void collect(Evaluator evaluator, String key, List<Total> totals) {
        for (Field field : OptimizerFields.of(evaluator)) {
            Object value = OptimizerFields.read(field, evaluator);
            if (value instanceof Evaluator inner) {
                collect(inner, key, totals);
            } else if (value instanceof List<?> many) {
                many.stream()
                        .filter(Evaluator.class::isInstance)
                        .forEach(inner -> collect((Evaluator) inner, key, totals));
            } else if (value instanceof Map<?, ?> map && map.get(key) instanceof Number number) {
                totals.add(new Total(evaluator.getName() + "." + field.getName(), asNumbers(map), number));
            }
        }
    }

    @SuppressWarnings("unchecked") // a number has been seen in it
    private static Map<String, Number> asNumbers(Map<?, ?> map) {
        return (Map<String, Number>) map;
    }

    private void requireSame(String key, List<Total> totals) {
        String mine = String.join(", ", totals.stream().map(Total::name).toList());
        List<String> all = hvd.allgatherObject("djl.evaluators", mine, ObjectCodec.utf8());
        if (!all.stream().allMatch(mine::equals)) {
            throw new HvdException(
                    ErrorId.STATE_MISMATCH,
                    "the ranks have different evaluators with totals of \"" + key + "\", in the order of the ranks: "
                            + all + ". Give all trainers the same evaluators and listeners, in the same order");
        }
    }

    private void merge(String key, List<Total> totals) {
        long[] whole = new long[totals.size()];
        double[] broken = new double[totals.size()];
        for (int i = 0; i < totals.size(); i++) {
            whole[i] = isWhole(totals.get(i)) ? totals.get(i).value().longValue() : 0;
            broken[i] = isWhole(totals.get(i)) ? 0 : totals.get(i).value().doubleValue();
        }
        long[] wholes = (long[]) hvd.allreduce("djl.counts", Tensor.of(whole), AllreduceOptions.sum())
                .toArray();
        double[] brokens = (double[]) hvd.allreduce("djl.sums", Tensor.of(broken), AllreduceOptions.sum())
                .toArray();
        for (int i = 0; i < totals.size(); i++) {
            Total total = totals.get(i);
            total.map().put(key, like(total.value(), wholes[i], brokens[i]));
        }
    }

    private static boolean isWhole(Total total) {
        return total.value() instanceof Long || total.value() instanceof Integer;
    }

    private static Number like(Number before, long whole, double broken) {
        if (before instanceof Long) {
            return whole;
        }
        if (before instanceof Integer) {
            return Math.toIntExact(whole);
        }
        return before instanceof Float ? (Number) (float) broken : (Number) broken;
    }
}
