package io.hvd;

import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import io.hvd.tensor.Shape;
import io.hvd.tensor.Tensor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Makes sure that every rank has the same parameters before any of them is overwritten. */
final class ParameterCheck {
    private static final String ABSENT = "absent";

    private ParameterCheck() {}

    /** Every rank sends a list of names, types, shapes and kinds of device; each compares all of them, so all throw alike. */
    static void requireSame(ProcessSet set, Map<String, Tensor> parameters) {
        List<Map<String, String>> all = gather(set, describe(parameters));
        TreeSet<String> names = new TreeSet<>();
        all.forEach(rank -> names.addAll(rank.keySet()));
        for (String name : names) {
            Map<String, List<Integer>> ranksByValue = new LinkedHashMap<>();
            for (int rank = 0; rank < all.size(); rank++) {
                ranksByValue
                        .computeIfAbsent(all.get(rank).getOrDefault(name, ABSENT), value -> new ArrayList<>())
                        .add(set.ranks().get(rank));
            }
            if (ranksByValue.size() > 1) {
                throw new HvdException(
                        ErrorId.STATE_MISMATCH,
                        "the ranks do not have the same parameters, nothing was broadcast; first difference: \"" + name
                                + "\" is " + word(ranksByValue));
            }
        }
    }

    private static String word(Map<String, List<Integer>> ranksByValue) {
        StringBuilder text = new StringBuilder();
        ranksByValue.forEach((value, ranks) -> text.append(text.isEmpty() ? "" : "; ")
                .append(value)
                .append(" on ranks ")
                .append(ranks));
        return text.toString();
    }

    private static String describe(Map<String, Tensor> parameters) {
        StringBuilder text = new StringBuilder();
        parameters.forEach((name, tensor) -> text.append(name)
                .append('\t')
                .append(tensor.dtype())
                .append(' ')
                .append(tensor.shape())
                .append(tensor.device().isCpu() ? "" : " on a GPU")
                .append('\n'));
        return text.toString();
    }

    private static List<Map<String, String>> gather(ProcessSet set, String mine) {
        byte[] bytes = mine.getBytes(StandardCharsets.UTF_8);
        Tensor lengths = set.allgather("broadcast_parameters.check.sz", Tensor.of(bytes.length));
        Tensor texts = set.allgather(
                "broadcast_parameters.check.t", Tensor.wrap(bytes, io.hvd.tensor.DType.UINT8, Shape.of(bytes.length)));
        List<Map<String, String>> all = new ArrayList<>();
        int at = 0;
        for (int length : (int[]) lengths.toArray()) {
            all.add(parse(new String((byte[]) texts.toArray(), at, length, StandardCharsets.UTF_8)));
            at += length;
        }
        return all;
    }

    private static Map<String, String> parse(String text) {
        Map<String, String> byName = new LinkedHashMap<>();
        text.lines().map(line -> line.split("\t", 2)).forEach(pair -> byName.put(pair[0], pair[1]));
        return byName;
    }
}
