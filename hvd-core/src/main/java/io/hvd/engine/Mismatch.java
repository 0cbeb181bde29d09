package io.hvd.engine;

import io.hvd.spi.OpKind;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;

/** Compares what the ranks ask for under one name, and words the first difference as value and ranks. */
final class Mismatch {
    private final List<Request> requests;
    private final List<Integer> members;

    private Mismatch(List<Request> requests, List<Integer> members) {
        this.requests = requests;
        this.members = members;
    }

    /**
     * @param requests by rank within the set; null where a rank need not ask
     * @param members global ranks, for the message
     * @return a message that names the tensor, the operation, the values and the ranks that sent them
     */
    static Optional<String> find(List<Request> requests, List<Integer> members) {
        return new Mismatch(requests, members).find();
    }

    private Optional<String> find() {
        Request first = first();
        if (requests.stream()
                .allMatch(request -> request == null || request.kind().isTransfer())) {
            return transfer();
        }
        return differs("operation", Request::kind)
                .or(() -> differs("group of operations", Mismatch::describeGroup))
                .or(() -> first.kind() == OpKind.SCATTER ? Optional.empty() : payload())
                .or(() -> details(first.kind()));
    }

    private Optional<String> payload() {
        return differs("element type", Request::dtype).or(() -> differs("device", Request::place));
    }

    private Optional<String> details(OpKind kind) {
        return switch (kind) {
            case ALLREDUCE, REDUCESCATTER -> reduction();
            case REDUCE -> root().or(this::reduction);
            case BROADCAST -> root().or(() -> differs("shape", Request::shape));
            case ALLGATHER, ALLTOALL -> rows();
            case GATHER -> root().or(this::rows);
            case SCATTER -> root();
            case ADD_PROCESS_SET -> differs("members", Request::splits);
            case REMOVE_PROCESS_SET -> differs("process set", Request::argument);
            case JOIN -> differs("divisor", Request::divisor);
            case BARRIER, SEND, RECEIVE -> Optional.empty();
        };
    }

    private Optional<String> transfer() {
        return differs("element type", Request::dtype)
                .or(() -> differs("device", Request::place))
                .or(() -> differs("shape", Request::shape));
    }

    private Optional<String> root() {
        return differs("root rank", request -> members.get(request.root()));
    }

    private Optional<String> reduction() {
        return differs("shape", Request::shape)
                .or(() -> differs("reduce operation", request -> request.how().op()))
                .or(() -> differs(
                        "compression (type on the wire)",
                        request -> request.how().wire()))
                .or(() -> differs(
                        "scale factors",
                        request -> "prescale " + request.how().prescale() + ", postscale "
                                + request.how().postscale()));
    }

    private Optional<String> rows() {
        Optional<String> ranks =
                differs("number of dimensions", request -> request.shape().rank());
        for (int d = 1; ranks.isEmpty() && d < first().shape().rank(); d++) {
            int dim = d;
            ranks = differs("dimension " + dim, request -> request.shape().dim(dim));
        }
        return ranks;
    }

    private static String describeGroup(Request request) {
        Request.Group group = request.group();
        return group.isNone() ? "none" : "\"" + group.name() + "\" of " + group.members();
    }

    private Request first() {
        return requests.stream().filter(request -> request != null).findFirst().orElseThrow();
    }

    private Optional<String> differs(String what, Function<Request, Object> value) {
        Map<Object, TreeSet<Integer>> ranksByValue = new LinkedHashMap<>();
        for (int rank = 0; rank < requests.size(); rank++) {
            if (requests.get(rank) != null) {
                ranksByValue
                        .computeIfAbsent(value.apply(requests.get(rank)), v -> new TreeSet<>())
                        .add(members.get(rank));
            }
        }
        if (ranksByValue.size() <= 1) {
            return Optional.empty();
        }
        StringBuilder text = new StringBuilder();
        ranksByValue.forEach((found, ranks) -> text.append(text.isEmpty() ? "" : "; ")
                .append(found)
                .append(" on ranks ")
                .append(RankSet.format(ranks)));
        String operations = what.equals("operation") ? "" : " of " + first().kind();
        return Optional.of(
                "tensor \"" + first().name() + "\": the ranks differ in the " + what + operations + ": " + text);
    }
}
