package io.hvd.backend.nccl;

import io.hvd.net.MessageReader;
import io.hvd.net.MessageWriter;
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
    /** This card after an attempt to open the GPUs. @param why they are not open; empty if they are */
    RankCard withUnreached(String why) {
        return new RankCard(machine, hostId, gpus, nccl, missing, why, ways, error);
    }

    byte[] encode() {
        return MessageWriter.encode(out -> {
            out.writeText(machine);
            out.writeText(hostId);
            out.writeList(gpus, MessageWriter::writeText);
            out.writeText(nccl);
            out.writeText(missing);
            out.writeText(unreached);
            out.writeText(ways);
            out.writeText(error);
        });
    }

    static RankCard decode(byte[] bytes) {
        return MessageReader.decode(
                "what a rank says of its GPUs",
                bytes,
                in -> new RankCard(
                        in.readText(),
                        in.readText(),
                        in.readList(MessageReader::readText),
                        in.readText(),
                        in.readText(),
                        in.readText(),
                        in.readText(),
                        in.readText()));
    }
}
