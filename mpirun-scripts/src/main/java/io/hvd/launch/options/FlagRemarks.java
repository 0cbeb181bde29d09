package io.hvd.launch.options;

import io.hvd.launch.words.UsageException;
import java.util.ArrayList;
import java.util.List;

/** The answers to flags that are refused or have no effect. */
final class FlagRemarks {

    private FlagRemarks() {}

    /** @throws UsageException if a flag asks for something that hvd has not */
    static void refuse(List<FlagValue> given) {
        for (FlagValue one : given) {
            if (one.flag().effect() instanceof FlagEffect.Refused refused) {
                throw new UsageException("flag-refused", one.origin() + ": " + refused.why());
            }
        }
    }

    /** A remark on every flag without effect, and on names that stand together in one word. */
    static List<String> notes(List<FlagValue> given) {
        List<String> notes = new ArrayList<>();
        for (FlagValue one : given) {
            if (one.flag().effect() instanceof FlagEffect.NoEffect noEffect) {
                checkForm(noEffect.form(), one);
                notes.add(one.origin() + " is accepted and has no effect: " + noEffect.why());
            }
        }
        if (FlagValue.values(given, Flag.NETWORK_INTERFACE).stream().anyMatch(text -> text.contains(","))) {
            notes.add("--network-interface takes one name each time; for a comma list there is --network-interfaces");
        }
        return notes.stream().distinct().toList();
    }

    private static void checkForm(FlagEffect.Form form, FlagValue one) {
        if (form == FlagEffect.Form.NUMBER) {
            one.number(0, Integer.MAX_VALUE);
        }
        if (form == FlagEffect.Form.FRACTION && !one.value().matches("0?\\.\\d+|0|1(\\.0*)?")) {
            throw new UsageException(
                    "out-of-range", one.origin() + " " + one.value() + ": expected a number from 0 to 1");
        }
        if (form == FlagEffect.Form.CORES && !one.value().matches("\\d+(,\\d+)*")) {
            throw new UsageException(
                    "core-list", one.origin() + " " + one.value() + ": expected a comma list of cores, as in 0,2,4");
        }
    }
}
