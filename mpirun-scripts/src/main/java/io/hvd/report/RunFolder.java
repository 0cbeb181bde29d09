package io.hvd.report;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A run as its folder tells of it.
 *
 * @param name for charts and tables
 * @param curves the run's scalars; those that hvd writes for each rank stand in the card
 */
record RunFolder(String name, Card card, List<ChartCurve> curves) {
    /** @throws ReportException if one of the folders holds no run, or one that cannot be read */
    static List<RunFolder> read(List<Path> folders) throws ReportException {
        List<RunFolder> runs = new ArrayList<>();
        for (Path folder : folders) {
            runs.add(read(folder, folders));
        }
        return runs;
    }

    /** @param folders of all runs, among which the name tells this one */
    static RunFolder read(Path folder, List<Path> folders) throws ReportException {
        String name = name(folder, folders);
        Card card = new CardFile(folder.resolve("run.json")).read();
        Path scalars = folder.resolve("scalars.jsonl");
        List<ChartCurve> all = Files.exists(scalars) ? new ScalarFile(scalars).read() : metrics(card);
        return new RunFolder(name, card, all.stream().filter(RunFolder::isOwn).toList());
    }

    private static boolean isOwn(ChartCurve curve) {
        return !curve.tag().equals("samples per second") && !curve.tag().matches(".*/rank \\d+");
    }

    /** Where the scalars are missing, the card has those of the epochs. */
    private static List<ChartCurve> metrics(Card card) {
        Map<String, List<ChartCurve.Point>> byName = new LinkedHashMap<>();
        for (Card.Epoch epoch : card.epochs()) {
            epoch.metrics()
                    .forEach((name, value) -> byName.computeIfAbsent(name, one -> new ArrayList<>())
                            .add(new ChartCurve.Point(epoch.step(), value)));
        }
        List<ChartCurve> curves = new ArrayList<>();
        byName.forEach((name, points) -> curves.add(new ChartCurve(name, points)));
        return curves;
    }

    /** The folder's own name, if that says which of them it is. */
    private static String name(Path folder, List<Path> folders) {
        String last = last(folder);
        long named = folders.stream().filter(one -> last(one).equals(last)).count();
        return named == 1 ? last : folder.toString();
    }

    private static String last(Path folder) {
        Path name = folder.toAbsolutePath().normalize().getFileName();
        return name == null ? folder.toString() : name.toString();
    }

    /** How the run ended, in a few words. */
    String state() {
        return switch (card.exit().state()) {
            case "finished" ->
                card.exit().why() == null ? "finished" : card.exit().why();
            case "stopped" ->
                (card.exit().why() == null ? "stopped" : card.exit().why()) + ", to go on later";
            case "failed" -> "failed";
            case "running" -> "running, or killed";
            default -> card.exit().state();
        };
    }
}
