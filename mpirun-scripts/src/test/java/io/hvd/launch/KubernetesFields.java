package io.hvd.launch;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import io.kubernetes.client.openapi.JSON;
import io.kubernetes.client.openapi.models.V1Job;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Compares an object for Kubernetes with the fields of its kind. A cluster drops a field that it does not know without a word,
 * and refuses an object without a field that must be there, or with the number 4 where it wants a text. Kubernetes' own kinds
 * are those of its Java client; Kubeflow's, and the texts that a field may have, come from a list.
 */
final class KubernetesFields {
    private static final String MODELS = V1Job.class.getPackageName();

    private final Map<String, Map<String, String>> types = new HashMap<>();
    private final Map<String, String> texts = new HashMap<>();
    private final Gson client = JSON.getGson();

    KubernetesFields() throws IOException {
        types.put("", Map.of("v1/Service", "V1Service", "batch/v1/Job", "V1Job"));
        try (InputStream in = KubernetesFields.class.getResourceAsStream("kubernetes-fields.txt")) {
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            text.lines().filter(line -> !line.startsWith("#")).forEach(line -> read(line.split(" ")));
        }
    }

    private void read(String[] words) {
        if (words[0].equals("=")) {
            texts.put(words[1], words[2]);
            return;
        }
        Map<String, String> fields = new HashMap<>();
        for (int i = 1; i < words.length; i++) {
            int colon = words[i].indexOf(':');
            fields.put(words[i].substring(0, colon), words[i].substring(colon + 1));
        }
        types.put(words[0], fields);
    }

    /** What is wrong, with the place of each mistake. */
    List<String> mistakes(Map<?, ?> object) {
        List<String> found = new ArrayList<>();
        String kind = object.get("apiVersion") + "/" + object.get("kind");
        check(types.get("").getOrDefault(kind, kind), object, "", found);
        return found;
    }

    private void check(String type, Object value, String place, List<String> found) {
        if (type.endsWith("[]") && value instanceof List<?> list) {
            for (int i = 0; i < list.size(); i++) {
                check(type.substring(0, type.length() - 2), list.get(i), place + "/" + i, found);
            }
        } else if (type.startsWith("V1")) {
            checkAsClient(type, value, place, found);
        } else if (types.containsKey(type) && value instanceof Map<?, ?> map) {
            checkFields(type, map, place, found);
        } else if (!isValue(type, value)) {
            found.add(place + " is " + value + ", expected " + type);
        }
    }

    private void checkFields(String type, Map<?, ?> map, String place, List<String> found) {
        Map<String, String> fields = types.get(type);
        map.forEach((key, value) -> {
            String expected = fields.getOrDefault(key, fields.get(key + "!"));
            if (expected == null) {
                found.add(place + "/" + key + " is no field of " + type);
            } else {
                check(expected, value, place + "/" + key, found);
            }
        });
        fields.keySet().stream()
                .filter(field -> field.endsWith("!") && !map.containsKey(field.substring(0, field.length() - 1)))
                .forEach(field -> found.add(place + " has no " + field.substring(0, field.length() - 1)));
    }

    private static boolean isValue(String type, Object value) {
        return switch (type) {
            case "any" -> true;
            case "string" -> value instanceof String;
            case "bool" -> value instanceof Boolean;
            case "int" -> value instanceof Integer;
            default -> isOneOf(type, value);
        };
    }

    private static boolean isOneOf(String texts, Object value) {
        return List.of(texts.split("\\|")).contains(value);
    }

    /** The client refuses unknown and missing fields, but makes a text of a number: so what it writes is compared. */
    private void checkAsClient(String type, Object value, String place, List<String> found) {
        JsonElement json = new Gson().toJsonTree(value);
        try {
            Class<?> model = Class.forName(MODELS + "." + type);
            compare(json, client.toJsonTree(client.fromJson(json, model)), place, found);
        } catch (ClassNotFoundException e) {
            throw new AssertionError(type, e);
        } catch (RuntimeException e) {
            found.add(place + ": " + e.getMessage().replaceFirst("(?s):? *(JSON: )?\\{.*", ""));
        }
    }

    private void compare(JsonElement given, JsonElement taken, String place, List<String> found) {
        if (given.isJsonObject()) {
            given.getAsJsonObject().asMap().forEach((key, value) -> {
                JsonElement other = taken.getAsJsonObject().get(key);
                compare(value, other, place + "/" + key, found);
            });
        } else if (given.isJsonArray()) {
            for (int i = 0; i < given.getAsJsonArray().size(); i++) {
                compare(given.getAsJsonArray().get(i), taken.getAsJsonArray().get(i), place + "/" + i, found);
            }
        } else if (kind(given.getAsJsonPrimitive()) != kind(taken.getAsJsonPrimitive())) {
            found.add(place + " is " + given + ", expected " + taken);
        } else {
            texts.entrySet().stream()
                    .filter(entry -> place.endsWith(entry.getKey()) && !isOneOf(entry.getValue(), given.getAsString()))
                    .forEach(entry -> found.add(place + " is " + given + ", expected " + entry.getValue()));
        }
    }

    private static int kind(JsonPrimitive value) {
        return value.isString() ? 0 : value.isNumber() ? 1 : 2;
    }
}
