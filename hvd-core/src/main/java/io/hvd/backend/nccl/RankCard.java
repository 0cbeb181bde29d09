package io.hvd.backend.nccl;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * What a rank tells the others about itself before a communicator is made.
 *
 * @param machine same for ranks whose GPUs hang on the same machine
 * @param hostId what NCCL takes for the machine instead, NCCL_HOSTID; empty if that is not set
 * @param gpus PCI ids of this rank's GPUs
 * @param nccl its version; empty if it does not load
 * @param missing why NCCL cannot be used on this rank; empty if it can
 * @param unreached why hvd's kernels cannot be used on this rank's GPU; empty if they can, or if there is none
 * @param ways the settings by which communicators are made, which must be the same everywhere
 * @param error why this rank cannot go on at all; empty if it can
 */
record RankCard(
        String machine,
        String hostId,
        List<String> gpus,
        String nccl,
        String missing,
        String unreached,
        String ways,
        String error) {
    private static final String BETWEEN = " ";

    /** This card after an attempt to open the GPUs. @param why they are not open; empty if they are */
    RankCard withUnreached(String why) {
        return new RankCard(machine, hostId, gpus, nccl, missing, why, ways, error);
    }

    byte[] encode() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeUTF(machine);
            out.writeUTF(hostId);
            out.writeUTF(String.join(BETWEEN, gpus));
            for (String field : new String[] {nccl, missing, unreached, ways, error}) {
                out.writeUTF(field);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    static RankCard decode(byte[] bytes) {
        try (DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes))) {
            return new RankCard(
                    in.readUTF(),
                    in.readUTF(),
                    split(in.readUTF()),
                    in.readUTF(),
                    in.readUTF(),
                    in.readUTF(),
                    in.readUTF(),
                    in.readUTF());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static List<String> split(String joined) {
        return joined.isEmpty() ? List.of() : List.of(joined.split(BETWEEN));
    }
}
