package io.hvd.benchmarks.cost;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.hvd.error.ErrorId;
import io.hvd.error.HvdException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * One value in a cost model's file. It knows its path, for the message if another value is expected there.
 *
 * @param path the path from the top, such as {@code algorithms.mpi.pieces[0].form}; empty at the top
 */
record ModelField(String file, String path, JsonElement value) {
    static ModelField of(String file, JsonElement top) {
        return new ModelField(file, "", top);
    }

    HvdException bad(String found, String expected) {
        return new HvdException(
                ErrorId.BAD_SETTING,
                "cost model " + file + (path.isEmpty() ? "" : ", field " + path) + ": found " + found + ", expected "
                        + expected + "; bench-model.sh writes such files");
    }

    private HvdException bad(String expected) {
        return bad(value.toString(), expected);
    }

    ModelField field(String name) {
        JsonElement inside = object("an object with " + name).get(name);
        ModelField field = new ModelField(file, path.isEmpty() ? name : path + "." + name, inside);
        if (inside == null) {
            throw field.bad("nothing", "a value");
        }
        return field;
    }

    Set<String> names() {
        return object("an object").keySet();
    }

    private JsonObject object(String expected) {
        if (!value.isJsonObject()) {
            throw bad(expected);
        }
        return value.getAsJsonObject();
    }

    /** The elements of a list, at least one. */
    List<ModelField> elements() {
        if (!value.isJsonArray() || value.getAsJsonArray().isEmpty()) {
            throw bad("a list that is not empty");
        }
        List<ModelField> elements = new ArrayList<>();
        for (JsonElement each : value.getAsJsonArray()) {
            elements.add(new ModelField(file, path + "[" + elements.size() + "]", each));
        }
        return elements;
    }

    String text() {
        if (!(value instanceof JsonPrimitive primitive) || !primitive.isString()) {
            throw bad("a text");
        }
        return value.getAsString();
    }

    String oneOf(List<String> words) {
        String word = text();
        if (!words.contains(word)) {
            throw bad("one of " + String.join(", ", words));
        }
        return word;
    }

    boolean truth() {
        if (!(value instanceof JsonPrimitive primitive) || !primitive.isBoolean()) {
            throw bad("true or false");
        }
        return value.getAsBoolean();
    }

    long wholeNumber(long least, long most) {
        String expected = "a whole number from " + least + " to " + most;
        BigDecimal number = number(expected);
        try {
            long whole = number.longValueExact();
            if (whole >= least && whole <= most) {
                return whole;
            }
        } catch (ArithmeticException e) {
            // answered below, like a number out of range
        }
        throw bad(expected);
    }

    /** A number of seconds. */
    double cost() {
        String expected = "a finite number of seconds, at least 0";
        double seconds = number(expected).doubleValue();
        if (seconds < 0 || Double.isInfinite(seconds)) {
            throw bad(expected);
        }
        return seconds;
    }

    private BigDecimal number(String expected) {
        if (value instanceof JsonPrimitive primitive && primitive.isNumber()) {
            try {
                return primitive.getAsBigDecimal();
            } catch (NumberFormatException e) {
                // answered below
            }
        }
        throw bad(expected);
    }

    /** The shape of a job, such as {@code "4x2"}: four ranks on two hosts. */
    JobShape jobShape() {
        String text = text();
        if (!text.matches("\\d{1,6}x\\d{1,6}")) {
            throw bad("ranks x hosts, such as \"4x2\"");
        }
        int at = text.indexOf('x');
        int ranks = Integer.parseInt(text.substring(0, at));
        int hosts = Integer.parseInt(text.substring(at + 1));
        if (hosts < 1 || ranks < hosts) {
            throw bad("at least one host and a rank for each");
        }
        return new JobShape(ranks, hosts);
    }
}
