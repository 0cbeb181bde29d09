package io.hvd.engine.coordination;

import io.hvd.engine.message.Moving;
import io.hvd.engine.message.RankSet;
import io.hvd.engine.message.Reducing;
import io.hvd.engine.message.Request;
import io.hvd.spi.OpKind;
import io.hvd.spi.Reduction;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;

/** Compares the ranks' requests of one name, and describes the first difference as values and ranks. */
final class Mismatch {
    private final List<Request> requests;
    private final List<Integer> members;

    private Mismatch(List<Request> requests, List<Integer> members) {
        this.requests = requests;
        this.members = members;
    }

    /**
     * @param requests the requests by rank within the set; null where a rank need not ask
     * @param members global ranks, for the message
     * @return a message that names the tensor, the operation, the values and the ranks that sent them; empty if all
     *     agree
     */
    static Optional<String> find(List<Request> requests, List<Integer> members) {
        return new Mismatch(requests, members).find();
    }

    private Optional<String> find() {
        Request first = first();
        return operation()
                .or(() -> differs("group of operations", Mismatch::describeGroup))
                .or(() -> details(first.kind()));
    }

    /** The two halves of a transfer are different operations, but belong together. */
    private Optional<String> operation() {
        boolean halves = requests.stream().allMatch(request -> request == null || request instanceof Moving.Transfer);
        return halves ? Optional.empty() : differs("operation", Request::kind);
    }

    private Optional<String> details(OpKind kind) {
        return switch (kind) {
            case ALLREDUCE, REDUCESCATTER -> payload().or(this::reduction);
            case REDUCE -> payload().or(this::root).or(this::reduction);
            case BROADCAST -> payload().or(this::root).or(this::dimensions);
            case ALLGATHER, ALLTOALL -> payload().or(this::rows);
            case GATHER -> payload().or(this::root).or(this::rows);
            case SCATTER -> root();
            case ADD_PROCESS_SET -> differs("members", Request.AddProcessSet.class, Request.AddProcessSet::members);
            case REMOVE_PROCESS_SET ->
                differs("process set", Request.RemoveProcessSet.class, Request.RemoveProcessSet::set);
            case JOIN -> differs("divisor", Request.Join.class, Request.Join::divisor);
            case BARRIER -> Optional.empty();
            case SEND, RECEIVE -> shape();
        };
    }

    private Optional<String> payload() {
        return differs("element type", Request.OfTensor.class, Request.OfTensor::dtype)
                .or(() -> differs(
                        "device",
                        Request.OfTensor.class,
                        request -> request.payload().place()));
    }

    private Optional<String> shape() {
        return payload().or(this::dimensions);
    }

    private Optional<String> dimensions() {
        return differs("shape", Request.OfTensor.class, Request.OfTensor::shape);
    }

    private Optional<String> root() {
        return differs("root rank", Request.Rooted.class, request -> members.get(request.root()));
    }

    private Optional<String> reduction() {
        return dimensions()
                .or(() -> reduction("reduce operation", Reduction::op))
                .or(() -> reduction("compression (type on the wire)", Reduction::wire))
                .or(() -> reduction(
                        "scale factors", how -> "prescale " + how.prescale() + ", postscale " + how.postscale()));
    }

    private Optional<String> reduction(String what, Function<Reduction, Object> value) {
        return differs(what, Reducing.class, request -> value.apply(request.how()));
    }

    private Optional<String> rows() {
        Optional<String> ranks = differs(
                "number of dimensions",
                Request.OfTensor.class,
                request -> request.shape().rank());
        int rank = ((Request.OfTensor) first()).shape().rank();
        for (int d = 1; ranks.isEmpty() && d < rank; d++) {
            int dim = d;
            ranks = differs(
                    "dimension " + dim,
                    Request.OfTensor.class,
                    request -> request.shape().dim(dim));
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

    /** @param family the type of all requests */
    private <R extends Request> Optional<String> differs(String what, Class<R> family, Function<R, Object> value) {
        return differs(what, request -> value.apply(family.cast(request)));
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
