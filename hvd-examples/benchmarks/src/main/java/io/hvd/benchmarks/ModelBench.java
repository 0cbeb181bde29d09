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

/** Fits a cost model of allreduces, and compares it with jobs and sizes that it was not fitted to. */
final class ModelBench implements Benchmark {
    @Override
    public String name() {
        return "model";
    }

    @Override
    public String summary() {
        return "Fits a cost model of allreduces to times of --sizes, writes it to --out, and compares it with times of"
                + " --check-sizes.";
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
    public void run(MeasurementPlan plan, Progress progress, Consumer<Result> results)
            throws IOException, InterruptedException, ParseException {
        ModelPlan wanted = ModelPlan.of(plan);
        try {
            calibrate(plan, wanted, progress).forEach(results);
        } catch (HvdException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private static List<Result> calibrate(MeasurementPlan plan, ModelPlan wanted, Progress progress)
            throws IOException, InterruptedException {
        AllreduceTimes times = new AllreduceTimes(plan, wanted, progress);
        List<Sample> all = times.measure();
        List<Sample> samples = all.stream().filter(times::isOfCalibration).toList();
        CalibrationHost host = new CalibrationHost(
                InetAddress.getLocalHost().getHostName() + " on " + LocalDate.now(ZoneId.systemDefault())
                        + " with Open MPI " + MachineLine.openMpi(),
                MachineLine.cores(),
                wanted.coresShared(),
                times.gammaSecondsPerByte());
        CostModel model = Fit.of(host, samples);
        ModelFile.write(model, wanted.out());
        ModelCheck check =
                new ModelCheck(model, all.stream().filter(times::isOfCheck).toList());
        System.out.println("MODEL file=" + wanted.out() + " ways="
                + String.join(
                        ",",
                        model.curves().keySet().stream().map(Algorithm::word).toList()));
        System.out.println("CALIBRATION " + new ModelCheck(model, samples).summary());
        System.out.println("CHECK " + check.summary());
        return check.results();
    }
}
