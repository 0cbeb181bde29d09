package io.hvd.optimizer.torch.shard;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.torch.memory.SharedStorage;
import io.hvd.optimizer.torch.memory.TensorViews;
import io.hvd.optimizer.torch.parameter.DistinctParameters;
import io.hvd.optimizer.torch.shard.FlatParameter.Member;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Refuses parameters that cannot be shared out as one unit, before anything is changed. */
final class UnitCheck {
    private UnitCheck() {}

    /** @param taken the units of the parameters that are shared out already, by the parameters' identity */
    static void requireUsable(String unit, List<Member> members, Map<Long, String> taken) {
        for (Member member : members) {
            String other = taken.get(DistinctParameters.identity(member.tensor()));
            if (other != null) {
                throw new HvdException(
                        ErrorId.OPTIMIZER_MISUSE,
                        "parameter " + member.names() + " of unit \"" + unit + "\" is in unit \"" + other
                                + "\" already, expected each in one unit. Units are not nested, and what two modules"
                                + " share, as tied weights, belongs into the root, which is gathered for all of forward and"
                                + " backward");
            }
        }
        members.forEach(member -> requireOneKind(unit, members.get(0), member));
        requireSeparate(unit, members);
    }

    private static void requireOneKind(String unit, Member first, Member member) {
        Tensor tensor = member.tensor();
        if (!tensor.is_floating_point()
                || tensor.is_sparse()
                || tensor.scalar_type().value != first.tensor().scalar_type().value
                || !device(tensor).equals(device(first.tensor()))) {
            throw new HvdException(
                    ErrorId.UNSUPPORTED,
                    "parameter " + member.names() + " of unit \"" + unit + "\" is " + kind(tensor) + ", expected "
                            + kind(first.tensor()) + " as " + first.names()
                            + ": the parameters of a unit are one vector of a floating-point type on one device");
        }
    }

    private static void requireSeparate(String unit, List<Member> members) {
        int[] firsts = SharedStorage.firsts(members.stream().map(Member::tensor).toList());
        for (int i = 0; i < firsts.length; i++) {
            if (firsts[i] != i) {
                throw new HvdException(
                        ErrorId.UNSUPPORTED,
                        "the parameters " + members.get(firsts[i]).names() + " and "
                                + members.get(i).names() + " of unit \"" + unit
                                + "\" are two that lie in the same memory, as after set_data(...). Register one parameter"
                                + " under both names");
            }
        }
    }

    private static String kind(Tensor tensor) {
        return (tensor.is_sparse() ? "sparse " : "") + tensor.scalar_type().intern() + " on " + device(tensor);
    }

    private static String device(Tensor tensor) {
        return tensor.device().str().getString();
    }

    /** A collective: all ranks share out the same unit, of the same shapes. */
    static void requireSame(Ranks ranks, String unit, List<Member> members, ScalarType computeType) {
        Map<String, String> facts = new TreeMap<>();
        facts.put("the FullyShard's next unit", unit);
        facts.put("type that unit \"" + unit + "\" computes in", String.valueOf(computeType));
        for (Member member : members) {
            Tensor tensor = member.tensor();
            facts.put(
                    "parameter " + member.names() + " of unit \"" + unit + "\"",
                    tensor.scalar_type().intern() + "" + TensorViews.shape(tensor)
                            + (tensor.requires_grad() ? "" : ", frozen"));
        }
        ranks.set().requireSame(facts);
    }
}
