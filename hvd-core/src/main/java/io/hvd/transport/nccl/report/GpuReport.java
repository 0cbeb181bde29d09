package io.hvd.transport.nccl.report;

import io.hvd.cuda.CudaVersions;
import io.hvd.cuda.SegmentKernels;
import io.hvd.file.JsonObject;
import io.hvd.spi.GpuDriver.Gpu;
import io.hvd.transport.nccl.natives.NcclCodes;
import io.hvd.transport.nccl.report.GpuFacts.Card;
import io.hvd.transport.nccl.report.GpuFacts.Library;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The versions of all software that tensors on GPUs need, and the GPUs: what was found, or why it is missing.
 *
 * @param gpus number of GPUs that this process sees
 * @param nccl the version of NCCL as a number, such as 22803, or 0 if NCCL cannot be used
 * @param obstacle the reason why NCCL cannot be used, beginning with "no GPU: " if there is no GPU; empty if it can
 */
public record GpuReport(int gpus, int nccl, String obstacle, List<Row> rows) {
    private static final double BYTES_PER_GIB = 1 << 30;
    /**
     * Finds the number after the words "Kernel Module"; in the open kernel module, "for x86_64" stands between them.
     */
    private static final Pattern MODULE_VERSION = Pattern.compile("Kernel Module\\D*(?:x86_64\\s+)?(\\d+\\.[\\d.]+)");

    /**
     * One line of the table.
     *
     * @param found the version that was found; empty if the item is missing
     * @param missing the reason why the item is missing; empty if it was found
     */
    public record Row(String item, String found, String missing) {
        private String value() {
            return missing.isEmpty() ? found : "missing: " + missing;
        }
    }

    /**
     * The report of this process; does not throw if something is missing. It loads native libraries only if an NVIDIA
     * driver is loaded. Its result stays the same as long as the process lives.
     */
    public static GpuReport ofThisProcess() {
        return of(GpuFacts.ofThisProcess());
    }

    static GpuReport of(GpuFacts facts) {
        List<Row> rows = new ArrayList<>();
        rows.add(module(facts.kernelModule()));
        rows.add(library("CUDA driver", facts.driver(), code -> "for CUDA " + CudaVersions.text(code)));
        rows.add(runtime(facts));
        rows.add(library("NCCL", facts.nccl(), NcclCodes::version));
        rows.add(binding("JCuda", facts.bindings().jcuda()));
        rows.add(binding("JavaCPP cuda", facts.bindings().cuda()));
        rows.addAll(gpus(facts));
        rows.add(kernels(facts));
        String visible = facts.visibleDevices();
        rows.add(new Row("CUDA_VISIBLE_DEVICES", visible == null ? "not set" : "\"" + visible + "\"", ""));
        return new GpuReport(facts.gpus().size(), facts.nccl().version(), obstacle(facts), List.copyOf(rows));
    }

    /** One line per row, the second column aligned. */
    public String text() {
        int width = rows.stream().mapToInt(row -> row.item().length()).max().orElse(0);
        return rows.stream()
                .map(row -> String.format(Locale.ROOT, "%-" + width + "s  %s%n", row.item(), row.value()))
                .collect(Collectors.joining());
    }

    /** One object; a row has either "found" or "missing". */
    public String json() {
        return new JsonObject()
                .put("gpus", gpus)
                .put("nccl", nccl)
                .put("obstacle", obstacle)
                .put("rows", rows.stream().map(GpuReport::json).toList())
                .toString();
    }

    private static JsonObject json(Row row) {
        JsonObject json = new JsonObject().put("item", row.item());
        return row.missing().isEmpty() ? json.put("found", row.found()) : json.put("missing", row.missing());
    }

    private static String obstacle(GpuFacts facts) {
        return facts.gpus().isEmpty()
                ? "no GPU: " + facts.noGpu()
                : facts.nccl().missing();
    }

    private static Row module(String line) {
        Matcher version = MODULE_VERSION.matcher(line);
        if (line.isEmpty()) {
            return new Row("NVIDIA driver", "", "there is no /proc/driver/nvidia/version");
        }
        return new Row("NVIDIA driver", version.find() ? version.group(1) : line, "");
    }

    private static Row library(String item, Library library, IntFunction<String> version) {
        if (!library.missing().isEmpty()) {
            return new Row(item, "", library.missing());
        }
        String place = library.path().isEmpty() ? "" : ", " + library.path();
        return new Row(item, version.apply(library.version()) + place, "");
    }

    /** The CUDA runtime, which counts as missing if the driver is too old for it. */
    private static Row runtime(GpuFacts facts) {
        Row row = library("CUDA runtime", facts.runtime(), CudaVersions::text);
        if (facts.runtime().version() == 0 || facts.driver().version() == 0) {
            return row;
        }
        return new CudaVersions(facts.driver().version(), facts.runtime().version())
                .obstacle()
                .map(why -> new Row("CUDA runtime", "", "not usable, " + row.found() + ": " + why))
                .orElse(row);
    }

    private static Row binding(String item, String version) {
        return new Row(item, version, version.isEmpty() ? "not on the class path" : "");
    }

    private static List<Row> gpus(GpuFacts facts) {
        return facts.gpus().isEmpty()
                ? List.of(new Row("GPU", "", facts.noGpu()))
                : facts.gpus().stream().map(GpuReport::gpu).toList();
    }

    private static Row gpu(Card card) {
        Gpu gpu = card.gpu();
        String name = gpu.name() + ", " + gpu.pciId() + ", ";
        String more = card.unread().isEmpty()
                ? "compute capability " + capability(card.capability()) + ", "
                        + String.format(Locale.ROOT, "%.1f GiB", card.bytes() / BYTES_PER_GIB)
                : "capability and memory unknown: " + card.unread();
        return new Row("GPU " + gpu.index(), name + more, "");
    }

    /** The requirements of hvd's PTX, and whether the driver and the GPUs meet them. */
    private static Row kernels(GpuFacts facts) {
        String need = "driver for CUDA " + CudaVersions.text(SegmentKernels.OLDEST_DRIVER) + ", compute capability "
                + capability(SegmentKernels.OLDEST_CAPABILITY) + ", or newer";
        int driver = facts.driver().version();
        if (driver > 0 && driver < SegmentKernels.OLDEST_DRIVER) {
            return new Row(
                    "hvd's kernels need", "", need + ", but the driver is for CUDA " + CudaVersions.text(driver));
        }
        return facts.gpus().stream()
                .filter(card -> card.unread().isEmpty() && card.capability() < SegmentKernels.OLDEST_CAPABILITY)
                .findFirst()
                .map(card -> new Row(
                        "hvd's kernels need",
                        "",
                        need + ", but GPU " + card.gpu().index() + " has " + capability(card.capability())))
                .orElse(new Row("hvd's kernels need", need, ""));
    }

    private static String capability(int code) {
        return code / 10 + "." + code % 10;
    }
}
