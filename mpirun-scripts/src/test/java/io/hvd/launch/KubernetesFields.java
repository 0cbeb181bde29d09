package io.hvd.launch;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Compares an object for Kubernetes with the fields of its kind. A cluster drops a field that it does not know without a word,
 * and refuses the number 4 where it wants a text.
 */
final class KubernetesFields {
    private final Map<String, Map<String, String>> types = new HashMap<>();

    KubernetesFields() throws IOException {
        try (InputStream in = KubernetesFields.class.getResourceAsStream("kubernetes-fields.txt")) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            text.lines().filter(line -> !line.startsWith("#")).forEach(line -> {
                String[] words = line.split(" ");
                Map<String, String> fields = new HashMap<>();
                for (int i = 1; i < words.length; i++) {
                    fields.put(
                            words[i].substring(0, words[i].indexOf(':')),
                            words[i].substring(words[i].indexOf(':') + 1));
                }
                types.put(words[0], fields);
            });
        }
    }

    /** What is wrong, with the place of each mistake. */
    List<String> mistakes(Map<?, ?> object) {
        List<String> found = new ArrayList<>();
        check(object.get("apiVersion") + "/" + object.get("kind"), object, "", found);
        return found;
    }

    private void check(String type, Object value, String place, List<String> found) {
        if (type.endsWith("[]") && value instanceof List<?> list) {
            for (int i = 0; i < list.size(); i++) {
                check(type.substring(0, type.length() - 2), list.get(i), place + "/" + i, found);
            }
        } else if (type.endsWith("{}") && value instanceof Map<?, ?> map) {
            map.forEach((key, entry) -> check(type.substring(0, type.length() - 2), entry, place + "/" + key, found));
        } else if (types.containsKey(type) && value instanceof Map<?, ?> map) {
            map.forEach((key, entry) -> checkField(type, key, entry, place + "/" + key, found));
        } else if (!isValue(type, value)) {
            found.add(place + " is " + value + ", expected " + type);
        }
    }

    private void checkField(String type, Object key, Object value, String place, List<String> found) {
        String expected = types.get(type).get(key);
        if (expected == null) {
            found.add(place + " is no field of " + type);
        } else {
            check(expected, value, place, found);
        }
    }

    private static boolean isValue(String type, Object value) {
        return switch (type) {
            case "any" -> true;
            case "string" -> value instanceof String;
            case "bool" -> value instanceof Boolean;
            case "int" -> value instanceof Integer;
            case "quantity" -> value instanceof String || value instanceof Integer;
            default -> false;
        };
    }
}
