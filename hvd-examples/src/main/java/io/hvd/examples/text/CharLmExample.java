package io.hvd.examples.text;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import io.hvd.examples.QuickRun;
import java.util.List;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** A language model of characters, on a text file or on sums in words that the program writes. */
public final class CharLmExample implements Example {
    @Override
    public String name() {
        return "char-lm";
    }

    @Override
    public String summary() {
        return "an LSTM or a transformer that learns to write, on a text file or on sums in words that the program writes";
    }

    @Override
    public Options flags() {
        return CharOptions.flags();
    }

    @Override
    public List<QuickRun> quickRuns() {
        return List.of(
                QuickRun.of("--preset quick --sample 0"), QuickRun.of("--preset quick --model transformer --sample 0"));
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        CharOptions options = CharOptions.from(line);
        TextSource source = new TextSource(options.data(), options.seed());
        return hvd -> new CharTraining(hvd, options, source.read(hvd)).run();
    }
}
