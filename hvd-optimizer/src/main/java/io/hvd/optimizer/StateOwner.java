package io.hvd.optimizer;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.util.List;

/**
 * Says in words whose state an optimizer's bytes are, so that a state of another kind of optimizer, or of other parameters, is refused
 * by name before any of its numbers is read. For makers of optimizers.
 *
 * @param words kind of the optimizer, then name, type and shape of each parameter, one per line
 */
public record StateOwner(String words) {
    /** The words for an optimizer of this kind. */
    public static StateOwner of(String kind, List<Parameter> parameters) {
        StringBuilder words = new StringBuilder(kind);
        parameters.forEach(parameter -> words.append('\n')
                .append(parameter.name())
                .append(' ')
                .append(parameter.value().dtype())
                .append(parameter.value().shape()));
        return new StateOwner(words.toString());
    }

    /** The first line. */
    public String kind() {
        return words.lines().findFirst().orElse("");
    }

    /** Requires that a state has the same words. @throws HvdException that names the first difference */
    public void requireSame(String saved) {
        List<String> found = saved.lines().toList();
        List<String> expected = words.lines().toList();
        for (int i = 0; i < Math.max(found.size(), expected.size()); i++) {
            String left = i < found.size() ? found.get(i) : "no more parameters";
            String right = i < expected.size() ? expected.get(i) : "no more parameters";
            if (!left.equals(right)) {
                throw mismatch("it is of \"" + left + "\" where this optimizer has \"" + right + "\"");
            }
        }
    }

    /** The error for a state that is another optimizer's, or damaged. */
    public static HvdException mismatch(String how) {
        return new HvdException(ErrorId.STATE_MISMATCH, "the optimizer state does not fit: " + how);
    }
}
