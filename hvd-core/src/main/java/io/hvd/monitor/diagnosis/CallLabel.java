package io.hvd.monitor.diagnosis;

import io.hvd.monitor.view.CallView;
import io.hvd.spi.OpKind;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The properties that tell a call from the other calls of a program. A name that hvd has given has a counter in it, which is shifted
 * on a rank that has left out a call; such a call is told by its line and its shape instead.
 *
 * @param name without the counter
 * @param unnamed whether hvd has given the name
 * @param counter the place among the unnamed calls of the same method; 0 for a call with a name
 * @param shape element type and shape of an unnamed call, where they are the same on all ranks; else empty
 * @param site the line of the program that made an unnamed call; empty for a call with a name
 */
record CallLabel(String kind, String name, boolean unnamed, long counter, String shape, String site) {
    private static final Pattern GIVEN = Pattern.compile("(.+)\\.noname\\.(\\d{1,18})(\\..*)?");
    /** Operations to which all ranks bring tensors of the same shape. */
    private static final Set<String> SAME_SHAPE = Set.of(OpKind.ALLREDUCE.toString(), OpKind.REDUCESCATTER.toString());

    static CallLabel of(CallView call) {
        CallView.Key key = call.key();
        Matcher given = GIVEN.matcher(key.name());
        if (key.isJoin() || !given.matches()) {
            return new CallLabel(key.kind(), key.name(), false, 0, "", "");
        }
        String part = given.group(3) == null ? "" : given.group(3);
        String shape = SAME_SHAPE.contains(key.kind()) ? call.detail() : "";
        return new CallLabel(
                key.kind(), given.group(1) + part, true, Long.parseLong(given.group(2)), shape, call.site());
    }

    /** Whether both are made in the same place of the program, as far as their labels tell. */
    boolean isSameAs(CallLabel other) {
        return mayMeet(other) && site.equals(other.site);
    }

    /** Whether the ranks can carry them out as one collective. */
    boolean mayMeet(CallLabel other) {
        return kind.equals(other.kind) && name.equals(other.name) && shape.equals(other.shape);
    }

    /** This label without the part that differs from step to step of a program. */
    CallLabel withoutCounter() {
        return new CallLabel(kind, name, unnamed, 0, shape, site);
    }

    /** The call in a sentence, such as {@code allreduce "weights"} or {@code the unnamed allreduce of float32[4]}. */
    static String words(CallView call) {
        CallLabel label = of(call);
        if (!label.unnamed) {
            return call.key().toString();
        }
        String set = call.key().processSet() == 0
                ? ""
                : " of process set " + call.key().processSet();
        return "the unnamed " + label.kind + (call.detail().isEmpty() ? "" : " of " + call.detail()) + set;
    }
}
