package io.hvd.examples.text;

import io.hvd.RankBody;
import io.hvd.examples.Example;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;

/** A TextCNN that finds the topic of a sentence, over ranks or over the devices of one process. */
public final class TextCnnExample implements Example {
    @Override
    public String name() {
        return "textcnn";
    }

    @Override
    public String summary() {
        return "a TextCNN that finds the topics of sentences, of a file or drawn; over ranks, or devices of one process";
    }

    @Override
    public Options flags() {
        return TextCnnOptions.flags();
    }

    @Override
    public RankBody<Integer> program(CommandLine line) throws ParseException {
        TextCnnOptions options = TextCnnOptions.from(line);
        return hvd -> {
            Corpus corpus = EveryRank.reads(hvd, options::corpus);
            EveryRank.requireSame(hvd, "textcnn.corpus", "sentences", corpus.checksum());
            try (TextCnnTraining training = new TextCnnTraining(hvd, options, corpus)) {
                return training.run();
            }
        };
    }
}
