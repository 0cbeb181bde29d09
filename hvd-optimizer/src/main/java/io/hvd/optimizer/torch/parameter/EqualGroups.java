package io.hvd.optimizer.torch.parameter;

import io.hvd.Hvd;
import io.hvd.log.HvdLogger;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.bytedeco.pytorch.Optimizer;

/**
 * Looks for parameter groups that have the same options, and so are no use. LibTorch takes an option for one that nobody has set if it is
 * the default of the options' class, such as Adam's learning rate of 0.001 or a weight decay of 0, and replaces it by the optimizer's; it
 * drops options of another class, such as {@code SGDOptions} in an Adam, altogether. Neither raises an error.
 */
public final class EqualGroups {
    private static final HvdLogger LOG = HvdLogger.of(EqualGroups.class);

    private EqualGroups() {}

    /** Rank 0 warns if two groups have the same options. */
    public static void warn(Optimizer optimizer) {
        if (optimizer.param_groups().size() > 1 && (!Hvd.isInitialized() || Hvd.rank() == 0)) {
            found(optimizer).ifPresent(LOG::warn);
        }
    }

    /** The first two groups with the same options, in a warning; empty if there are none. */
    public static Optional<String> found(Optimizer optimizer) {
        Map<String, String> settings = TorchSettings.of(optimizer);
        Map<Map<String, String>, Integer> known =
                new TreeMap<>((a, b) -> a.toString().compareTo(b.toString()));
        for (int group = 0; group < optimizer.param_groups().size(); group++) {
            Map<String, String> options = options(settings, " of parameter group " + group);
            Integer before = known.putIfAbsent(options, group);
            if (before != null) {
                return Optional.of(warning(settings.get("optimizer"), before, group, options));
            }
        }
        return Optional.empty();
    }

    private static Map<String, String> options(Map<String, String> settings, String suffix) {
        Map<String, String> options = new TreeMap<>();
        settings.forEach((name, value) -> {
            if (name.endsWith(suffix) && !name.startsWith("parameters ")) {
                options.put(name.substring(0, name.length() - suffix.length()), value);
            }
        });
        return options;
    }

    private static String warning(String kind, int first, int second, Map<String, String> options) {
        return "the parameter groups " + first + " and " + second + " of " + kind + " have the same options, " + options
                + ". If you gave them different ones, LibTorch has dropped some: it replaces an option that equals the default of "
                + kind
                + "Options by the optimizer's own, and ignores options of another class. Set them after the optimizer is"
                + " made, such as optimizer.param_groups().get(" + second
                + ").options().set_lr(rate), before you wrap it";
    }
}
