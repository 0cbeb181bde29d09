package io.hvd.engine;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;

/** Compares what the ranks ask for under one name, and words the first difference as value and ranks. */
final class Mismatch {
    private Mismatch() {}

    /**
     * @param requests one per rank, by rank
     * @return a message that names the tensor, the operation, the values and the ranks that sent them
     */
    static Optional<String> find(List<Request> requests) {
        Request first = requests.get(0);
        return differs(requests, "operation", Request::kind)
                .or(() -> differs(requests, "element type", Request::dtype))
                .or(() -> differs(requests, "device", Request::device))
                .or(() -> switch (first.kind()) {
                    case ALLREDUCE -> reduction(requests);
                    case ALLGATHER -> rows(requests);
                    case BROADCAST ->
                        differs(requests, "root rank", Request::root)
                                .or(() -> differs(requests, "shape", Request::shape));
                    case BARRIER -> Optional.empty();
                });
    }

    private static Optional<String> reduction(List<Request> requests) {
        return differs(requests, "shape", Request::shape)
                .or(() -> differs(requests, "reduce operation", Request::op))
                .or(() -> differs(requests, "compression (type on the wire)", Request::wire))
                .or(() -> differs(
                        requests,
                        "scale factors",
                        request -> "prescale " + request.prescale() + ", postscale " + request.postscale()));
    }

    private static Optional<String> rows(List<Request> requests) {
        Optional<String> ranks = differs(
                requests, "number of dimensions", request -> request.shape().rank());
        for (int d = 1; ranks.isEmpty() && d < requests.get(0).shape().rank(); d++) {
            int dim = d;
            ranks = differs(
                    requests, "dimension " + dim, request -> request.shape().dim(dim));
        }
        return ranks;
    }

    private static Optional<String> differs(List<Request> requests, String what, Function<Request, Object> value) {
        Object expected = value.apply(requests.get(0));
        if (requests.stream().allMatch(request -> expected.equals(value.apply(request)))) {
            return Optional.empty();
        }
        Map<Object, TreeSet<Integer>> ranksByValue = new LinkedHashMap<>();
        for (int rank = 0; rank < requests.size(); rank++) {
            ranksByValue
                    .computeIfAbsent(value.apply(requests.get(rank)), v -> new TreeSet<>())
                    .add(rank);
        }
        StringBuilder text = new StringBuilder();
        ranksByValue.forEach((found, ranks) -> text.append(text.isEmpty() ? "" : "; ")
                .append(found)
                .append(" on ranks ")
                .append(RankSet.format(ranks)));
        String operations =
                what.equals("operation") ? "" : " of " + requests.get(0).kind();
        return Optional.of("tensor \"" + requests.get(0).name() + "\": the ranks differ in the " + what + operations
                + ": " + text);
    }
}
