package io.hvd.optimizer.exchange;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.optimizer.Parameter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Says which parameters' gradients travel together, where the program and not {@link Buckets} decides it. */
public final class ParameterGroups {
    private ParameterGroups() {}

    /**
     * Divides parameters into consecutive groups whose sizes differ by one at most, the larger ones first, as Horovod
     * does. If there are fewer parameters than groups, each is a group.
     *
     * @return indices of the parameters of each group
     */
    public static List<List<Integer>> consecutive(int parameters, int groups) {
        int count = Math.min(groups, parameters);
        List<List<Integer>> all = new ArrayList<>();
        int from = 0;
        for (int group = 0; group < count; group++) {
            int size = parameters / count + (group < parameters % count ? 1 : 0);
            List<Integer> members = new ArrayList<>();
            for (int i = from; i < from + size; i++) {
                members.add(i);
            }
            all.add(members);
            from += size;
        }
        return all;
    }

    /**
     * Finds the parameters of groups that are given by names; each parameter that no group names is a group of its own.
     *
     * @return indices of the parameters of each group, in the order of the first parameter of each
     * @throws HvdException if a name is no parameter's, or occurs twice
     */
    public static List<List<Integer>> named(List<Parameter> parameters, List<List<String>> groups) {
        Map<String, Integer> groupOf = groupsByName(parameters, groups);
        Map<Object, List<Integer>> members = new HashMap<>();
        LinkedHashSet<Object> order = new LinkedHashSet<>();
        for (int i = 0; i < parameters.size(); i++) {
            String name = parameters.get(i).name();
            Object key = groupOf.containsKey(name) ? groupOf.get(name) : name;
            order.add(key);
            members.computeIfAbsent(key, fresh -> new ArrayList<>()).add(i);
        }
        return order.stream().map(members::get).toList();
    }

    private static Map<String, Integer> groupsByName(List<Parameter> parameters, List<List<String>> groups) {
        Set<String> known = new LinkedHashSet<>();
        parameters.forEach(parameter -> known.add(parameter.name()));
        Map<String, Integer> groupOf = new HashMap<>();
        for (int group = 0; group < groups.size(); group++) {
            for (String name : groups.get(group)) {
                if (!known.contains(name)) {
                    throw misuse("group " + group + " of groups(...), " + some(groups.get(group)) + ", names \"" + name
                            + "\", which is no parameter; there are " + parameters.size() + " parameters, "
                            + some(List.copyOf(known)));
                }
                Integer other = groupOf.put(name, group);
                if (other != null) {
                    throw misuse("parameter \"" + name + "\" is named twice in groups(...): in group " + other + ", "
                            + some(groups.get(other)) + ", and in group " + group + ", " + some(groups.get(group))
                            + "; its gradient travels once");
                }
            }
        }
        return groupOf;
    }

    /** Says how gradients are grouped, for a comparison between the ranks. */
    public static String inWords(Buckets buckets) {
        List<Integer> sizes = new ArrayList<>();
        int hash = 0;
        for (int bucket = 0; bucket < buckets.count(); bucket++) {
            List<Integer> members = buckets.members(bucket);
            sizes.add(members.size());
            hash = 31 * hash + members.hashCode();
        }
        Collections.reverse(sizes);
        return buckets.count() + " groups of " + some(sizes) + " parameters (" + Integer.toHexString(hash) + ")";
    }

    private static String some(List<?> all) {
        return all.size() <= 8 ? all.toString() : all.subList(0, 8) + " and " + (all.size() - 8) + " more";
    }

    private static HvdException misuse(String message) {
        return new HvdException(ErrorId.OPTIMIZER_MISUSE, message);
    }
}
