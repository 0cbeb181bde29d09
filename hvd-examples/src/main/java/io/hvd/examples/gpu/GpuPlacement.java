package io.hvd.examples.gpu;

import io.hvd.HvdContext;
import io.hvd.examples.gpu.CheckLine.Outcome;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import jcuda.runtime.JCuda;
import jcuda.runtime.cudaDeviceProp;

/** G1: every rank has the GPU of its local rank, as CUDA itself tells it. */
final class GpuPlacement {
    private static final int PCI_ID_LENGTH = 32;

    private GpuPlacement() {}

    static CheckLine check(HvdContext hvd) {
        int[] count = new int[1];
        int[] current = new int[1];
        DeviceArray.check("cudaGetDeviceCount", JCuda.cudaGetDeviceCount(count));
        DeviceArray.check("cudaGetDevice", JCuda.cudaGetDevice(current));
        String pciId = pciId(current[0]);
        List<String> wrong = new ArrayList<>();
        int expected = hvd.localRank() % count[0];
        if (hvd.device().index() != expected || current[0] != expected) {
            wrong.add("rank " + hvd.rank() + " (local rank " + hvd.localRank() + ") has " + hvd.device()
                    + ", CUDA's current device is " + current[0] + ", expected " + expected);
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
                "rank " + hvd.rank() + " on " + hvd.hosts().get(hvd.rank()) + " has device " + current[0] + " of "
                        + count[0] + ", " + name(current[0]) + ", " + pciId);
        return wrong.isEmpty()
                ? new CheckLine("G1", Outcome.PASS, String.join("; ", places))
                : new CheckLine("G1", Outcome.FAIL, String.join("; ", wrong));
    }

    private static String name(int device) {
        cudaDeviceProp properties = new cudaDeviceProp();
        DeviceArray.check("cudaGetDeviceProperties", JCuda.cudaGetDeviceProperties(properties, device));
        return properties.getName().trim();
    }

    private static String pciId(int device) {
        String[] id = new String[1];
        DeviceArray.check("cudaDeviceGetPCIBusId", JCuda.cudaDeviceGetPCIBusId(id, PCI_ID_LENGTH, device));
        return id[0].trim();
    }
}
