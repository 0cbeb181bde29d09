package io.hvd.report;

import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import io.hvd.file.RegularFile;
import io.hvd.file.TextFile;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;

/** Reads {@code run.json}, and says which of its fields is not as it should be. */
record CardFile(Path file) {
    Card read() throws ReportException {
        Card card = parsed();
        if (card == null) {
            throw new ReportException(file + " is empty");
        }
        if (card.format() != Card.FORMAT) {
            throw new ReportException(file + ": format is " + card.format() + ", expected " + Card.FORMAT
                    + "; take the hvd-report of the hvd that wrote it");
        }
        requireFields(card);
        return card;
    }

    private void requireFields(Card card) throws ReportException {
        require("program", card.program());
        require("starts", card.starts());
        require("exit", card.exit());
        require("exit.state", card.exit().state());
        require("versions", card.versions());
        require("parameters", card.parameters());
        requireAll("settings", card.settings());
        requireAll("ranks", card.ranks());
        requireAll("epochs", card.epochs());
        requireAll("warnings", card.warnings());
        for (int i = 0; i < card.ranks().size(); i++) {
            require("ranks[" + i + "].total", card.ranks().get(i).total());
        }
        for (int i = 0; i < card.epochs().size(); i++) {
            require("epochs[" + i + "].metrics", card.epochs().get(i).metrics());
            requireAll("epochs[" + i + "].ranks", card.epochs().get(i).ranks());
        }
    }

    private Card parsed() throws ReportException {
        try {
            return new Gson().fromJson(TextFile.read(RegularFile.at(file)), Card.class);
        } catch (NoSuchFileException e) {
            throw new ReportException(file.getParent() + " holds no run: there is no " + file.getFileName() + " in it");
        } catch (JsonParseException e) {
            throw new ReportException(file + ": " + firstLine(e.getMessage()) + RegularFile.inWords(file));
        } catch (IOException e) {
            throw new ReportException(file + " cannot be read: " + e);
        }
    }

    private static String firstLine(String message) {
        return message.lines().findFirst().orElse("").replaceFirst("^[\\w.]+Exception: ", "");
    }

    private void require(String field, Object value) throws ReportException {
        if (value == null) {
            throw new ReportException(file + " has no field " + field);
        }
    }

    private void requireAll(String field, List<?> values) throws ReportException {
        require(field, values);
        for (int i = 0; i < values.size(); i++) {
            require(field + "[" + i + "]", values.get(i));
        }
    }
}
