package io.hvd.train.log;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.math.BigDecimal;

/** The form of a file with a scalar in each line: time, step, tag and value. */
enum LineFormat {
    /** Objects of JSON; a value that is no number of JSON is a text, such as {@code "NaN"}. */
    JSON("scalars.jsonl", "") {
        @Override
        String line(Scalar scalar) {
            JsonObject line = new JsonObject();
            line.addProperty("time", scalar.seconds());
            line.addProperty("step", scalar.step());
            line.addProperty("tag", scalar.tag());
            line.add("value", Double.isFinite(scalar.value()) ? new JsonPrimitive(scalar.value()) : words(scalar));
            return line.toString();
        }

        @Override
        long step(String line) {
            try {
                return JsonParser.parseString(line)
                        .getAsJsonObject()
                        .get("step")
                        .getAsLong();
            } catch (JsonParseException | IllegalStateException | NullPointerException e) {
                throw new NumberFormatException(line);
            }
        }
    },
    /** Comma-separated values after RFC 4180, with a line of titles. */
    CSV("scalars.csv", "time,step,tag,value") {
        @Override
        String line(Scalar scalar) {
            return BigDecimal.valueOf(scalar.seconds()).toPlainString() + "," + scalar.step() + ","
                    + quoted(scalar.tag()) + "," + scalar.value();
        }

        @Override
        long step(String line) {
            String[] parts = line.split(",", -1);
            if (parts.length < 2) {
                throw new NumberFormatException(line);
            }
            return Long.parseLong(parts[1]);
        }
    };

    private final String fileName;
    private final String titles;

    LineFormat(String fileName, String titles) {
        this.fileName = fileName;
        this.titles = titles;
    }

    String fileName() {
        return fileName;
    }

    /** The first line, or nothing. */
    String titles() {
        return titles;
    }

    /** The line of a scalar, without its end. */
    abstract String line(Scalar scalar);

    /** @throws NumberFormatException if this is no line of a scalar */
    abstract long step(String line);

    private static JsonPrimitive words(Scalar scalar) {
        return new JsonPrimitive(Double.toString(scalar.value()));
    }

    private static String quoted(String tag) {
        boolean plain = tag.chars().noneMatch(one -> one == ',' || one == '"' || one == '\r');
        return plain ? tag : '"' + tag.replace("\"", "\"\"") + '"';
    }
}
