package io.hvd.benchmarks;

import io.hvd.benchmarks.cost.Algorithm;
import io.hvd.benchmarks.cost.CalibrationHost;
import io.hvd.benchmarks.cost.CostModel;
import io.hvd.benchmarks.cost.Fit;
import io.hvd.benchmarks.cost.ModelFile;
import io.hvd.benchmarks.cost.Sample;
import io.hvd.error.HvdException;
import java.io.IOException;
import java.net.InetAddress;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.commons.cli.ParseException;

/**
 * Fits a cost model of allreduces, or reads one, predicts jobs with it, and compares it with jobs and sizes that it was not
 * fitted to.
 */
final class ModelBench implements Benchmark {
    @Override
    public String name() {
        return "model";
    }

    @Override
    public String summary() {
        return "Fits a cost model of allreduces to times of --sizes, writes it to --out, and compares it with times of"
                + " --check-sizes. With --predict it says what jobs take that are not measured.";
    }

    @Override
    public MeasurementPlan usual() {
        List<Long> sizes = new ArrayList<>();
        for (long bytes = 64; bytes <= 64L << 20; bytes *= 4) {
            sizes.add(bytes);
        }
        return new MeasurementPlan(List.of(2, 4), sizes, 10, 3);
    }

    @Override
    public MeasurementPlan quick() {
        return new MeasurementPlan(List.of(2), List.of(64L, 1L << 10, 16L << 10, 128L << 10, 1L << 20, 8L << 20), 5, 1);
    }

    @Override
    public Map<String, String> ownFlags() {
        return ModelPlan.flags();
    }

    @Override
    public boolean measures(MeasurementPlan plan) throws ParseException {
        return ModelPlan.of(plan).measures();
    }

    @Override
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException, ParseException {
        ModelPlan wanted = ModelPlan.of(plan);
        try {
            AllreduceTimes times = new AllreduceTimes(plan, wanted, progress);
            CostModel model =
                    wanted.model().isPresent() ? ModelFile.read(wanted.model().get()) : fitted(wanted, times);
            predict(model, wanted);
            if (wanted.measures()) {
                ModelCheck check = new ModelCheck(model.withLink(wanted.linkBytesPerSecond()), times.ofCheck());
                System.out.println("CHECK " + check.summary());
                check.results().forEach(results);
            }
        } catch (HvdException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private static CostModel fitted(ModelPlan wanted, AllreduceTimes times) throws IOException, InterruptedException {
        List<Sample> samples = times.ofCalibration();
        CalibrationHost host = new CalibrationHost(
                InetAddress.getLocalHost().getHostName() + " on " + LocalDate.now(ZoneId.systemDefault())
                        + " with Open MPI " + MachineLine.openMpi(),
                MachineLine.cores(),
                wanted.coresShared(),
                times.gammaSecondsPerByte(),
                wanted.linkBytesPerSecond());
        CostModel model = Fit.of(host, samples);
        ModelFile.write(model, wanted.out());
        System.out.println("MODEL file=" + wanted.out() + " ways="
                + String.join(
                        ",",
                        model.curves().keySet().stream().map(Algorithm::word).toList()));
        System.out.println("CALIBRATION " + new ModelCheck(model, samples).summary());
        return model;
    }

    /** Prints the predictions before the jobs to check with are measured, if the model is an earlier one. */
    private static void predict(CostModel model, ModelPlan wanted) {
        if (!wanted.predict().isEmpty()) {
            CostModel there = wanted.ownCores() > 0 ? model.withOwnCores(wanted.ownCores()) : model;
            new PredictionTable(there, wanted.predict(), wanted.checkSizes(), wanted.rates())
                    .lines()
                    .forEach(System.out::println);
        }
    }
}
