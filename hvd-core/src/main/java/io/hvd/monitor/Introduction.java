package io.hvd.monitor;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * What a rank tells all others at the start.
 *
 * @param questions where it accepts connections with questions
 * @param beats where it receives signs of life, as datagrams
 * @param share its part of the key
 */
record Introduction(Member member, InetSocketAddress questions, InetSocketAddress beats, byte[] share) {

    byte[] encode() {
        return Wire.bytes(out -> {
            out.writeInt(member.rank());
            Wire.text(out, member.host());
            out.writeLong(member.pid());
            out.writeLong(member.startTicks());
            Wire.text(out, member.machine());
            byte[] address = questions.getAddress().getAddress();
            out.writeByte(address.length);
            out.write(address);
            out.writeInt(questions.getPort());
            out.writeInt(beats.getPort());
            out.write(share);
        });
    }

    static Introduction decode(byte[] bytes) throws IOException {
        DataInputStream in = Wire.reader(bytes);
        Member member = new Member(in.readInt(), Wire.text(in), in.readLong(), in.readLong(), Wire.text(in));
        InetAddress address = InetAddress.getByAddress(in.readNBytes(in.readByte()));
        return new Introduction(
                member,
                new InetSocketAddress(address, in.readInt()),
                new InetSocketAddress(address, in.readInt()),
                in.readNBytes(Seal.SHARE_BYTES));
    }
}
