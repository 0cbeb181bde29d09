package io.hvd.launch.options;

import io.hvd.config.HvdConfig;
import io.hvd.error.HvdException;
import io.hvd.launch.words.UsageException;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A variable that a flag sets for all ranks; it wins over the environment. */
public record Assignment(String variable, String value, String origin) {

    private static final long MEBIBYTE = 1 << 20;
    private static final int MOST_MEBIBYTES = 1 << 30;

    /** The assignments of all flags; where two flags set one variable, the later one counts. */
    static List<Assignment> of(Collection<FlagValue> given) {
        Map<String, Assignment> byVariable = new LinkedHashMap<>();
        given.forEach(one -> of(one).ifPresent(assignment -> byVariable.put(assignment.variable, assignment)));
        return List.copyOf(byVariable.values());
    }

    /** @throws UsageException if hvd would not take the value */
    private static Optional<Assignment> of(FlagValue given) {
        if (given.flag().effect() instanceof FlagEffect.ValueTo to) {
            return Optional.of(checked(to.setting().variable(), given.value(), given));
        }
        if (given.flag().effect() instanceof FlagEffect.MebibytesTo to) {
            long bytes = MEBIBYTE * given.number(0, MOST_MEBIBYTES);
            return Optional.of(checked(to.setting().variable(), Long.toString(bytes), given));
        }
        if (given.flag().effect() instanceof FlagEffect.Constant constant) {
            return Optional.of(new Assignment(constant.variable(), constant.value(), given.origin()));
        }
        return Optional.empty();
    }

    private static Assignment checked(String variable, String value, FlagValue given) {
        try {
            HvdConfig.from(Map.of(variable, value));
        } catch (HvdException e) {
            throw new UsageException("bad-value", given.origin() + " " + given.value() + ": " + e.getMessage());
        }
        if (value.isBlank()) {
            throw new UsageException("bad-value", given.origin() + ": the value is empty");
        }
        return new Assignment(variable, value, given.origin());
    }
}
