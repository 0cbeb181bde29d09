package io.hvd.examples.gpu;

import static io.hvd.cuda.DriverCode.check;

import io.hvd.HvdContext;
import io.hvd.examples.gpu.CheckLine.Outcome;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import jcuda.driver.CUdevice;
import jcuda.driver.JCudaDriver;

/** Check G1: every rank has the GPU of its local rank, as CUDA itself reports it. */
final class GpuPlacement {
    private static final int PCI_ID_LENGTH = 32;
    private static final int NAME_LENGTH = 256;

    private GpuPlacement() {}

    static CheckLine of(HvdContext hvd) {
        int[] count = new int[1];
        check("cuDeviceGetCount", JCudaDriver.cuDeviceGetCount(count));
        CUdevice mine = new CUdevice();
        check("cuCtxGetDevice", JCudaDriver.cuCtxGetDevice(mine));
        String pciId = pciId(mine);
        List<String> wrong = new ArrayList<>();
        int expected = hvd.localRank() * hvd.devices().size() % count[0];
        if (hvd.device().index() != expected || !pciId.equals(pciId(device(expected)))) {
            wrong.add("rank " + hvd.rank() + " (local rank " + hvd.localRank() + ") has " + hvd.device()
                    + ", CUDA's current device is the one at " + pciId + ", expected device " + expected);
        }
        List<String> owners =
                GpuCheck.fromAllRanks(hvd, "gpu_check.owner", hvd.hosts().get(hvd.rank()) + " " + pciId);
        Set<String> distinct = new HashSet<>(owners);
        if (distinct.size() < owners.size() && !"1".equals(System.getenv("HVD_SHARE_GPU"))) {
            wrong.add("ranks share a GPU: " + owners);
        }
        List<String> places = GpuCheck.fromAllRanks(
                hvd,
                "gpu_check.place",
                "rank " + hvd.rank() + " on " + hvd.hosts().get(hvd.rank()) + " has device "
                        + hvd.device().index() + " of " + count[0] + ", " + name(mine) + ", " + pciId);
        return wrong.isEmpty()
                ? new CheckLine("G1", Outcome.PASS, String.join("; ", places))
                : new CheckLine("G1", Outcome.FAIL, String.join("; ", wrong));
    }

    private static CUdevice device(int index) {
        CUdevice device = new CUdevice();
        check("cuDeviceGet(" + index + ")", JCudaDriver.cuDeviceGet(device, index));
        return device;
    }

    private static String name(CUdevice device) {
        byte[] name = new byte[NAME_LENGTH];
        check("cuDeviceGetName", JCudaDriver.cuDeviceGetName(name, NAME_LENGTH, device));
        return new String(name, StandardCharsets.UTF_8)
                .replaceFirst("(?s)\0.*", "")
                .trim();
    }

    private static String pciId(CUdevice device) {
        String[] id = new String[1];
        check("cuDeviceGetPCIBusId", JCudaDriver.cuDeviceGetPCIBusId(id, PCI_ID_LENGTH, device));
        return id[0].trim();
    }
}
