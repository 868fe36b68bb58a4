// Sends with Pushy. README.md has the contract.

import com.eatthepath.pushy.apns.ApnsClient;
import com.eatthepath.pushy.apns.ApnsClientBuilder;
import com.eatthepath.pushy.apns.auth.ApnsSigningKey;
import com.eatthepath.pushy.apns.util.SimpleApnsPushNotification;
import com.sun.management.OperatingSystemMXBean;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.handler.ssl.OpenSsl;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

final class Pushy {
    private static final int COUNT = number("COUNT", 0);
    private static final int WARM_UP = number("WARM_UP", 0);
    private static final int AT_ONCE = number("AT_ONCE", 1);
    private static final int CONNECTIONS = number("CONNECTIONS", 1);
    private static final int RUN = number("RUN", 0);
    private static final String TOPIC = System.getenv("APNS_TOPIC");

    public static void main(final String[] arguments) throws Exception {
        if (COUNT == 0) {
            System.out.printf("{\"client\":\"Pushy\",\"version\":\"%s\"}%n", version());
            return;
        }
        // One thread for each connection. More threads have no work.
        final var loops = new NioEventLoopGroup(CONNECTIONS);
        final ApnsClient client = new ApnsClientBuilder()
            .setApnsServer(System.getenv("APNS_HOST"), number("APNS_PORT", 443))
            .setTrustedServerCertificateChain(new File(System.getenv("APNS_CA")))
            .setSigningKey(ApnsSigningKey.loadFromPkcs8File(
                new File(System.getenv("APNS_KEY")), System.getenv("APNS_TEAM_ID"), System.getenv("APNS_KEY_ID")))
            .setEventLoopGroup(loops)
            .setConcurrentConnections(CONNECTIONS)
            .build();
        send(client, 0, new long[WARM_UP]);

        final var latencies = new long[COUNT];
        final var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        final long processor = system.getProcessCpuTime();
        final long wall = System.nanoTime();
        final int accepted = send(client, WARM_UP, latencies);
        final double seconds = (System.nanoTime() - wall) / 1e9;
        final double cpuSeconds = (system.getProcessCpuTime() - processor) / 1e9;
        client.close().get();
        loops.shutdownGracefully();

        Arrays.sort(latencies);
        final String settings = String.format("%d at once, %d connection%s, %s",
            AT_ONCE, CONNECTIONS, CONNECTIONS == 1 ? "" : "s", OpenSsl.isAvailable() ? "native TLS" : "TLS of Java");
        System.out.printf(
            "{\"client\":\"Pushy\",\"version\":\"%s\",\"settings\":\"%s\",\"count\":%d,\"warmUp\":%d,"
                + "\"accepted\":%d,\"seconds\":%.3f,\"perSecond\":%.0f,\"p50ms\":%.3f,\"p99ms\":%.3f,"
                + "\"cpuSeconds\":%.3f}%n",
            version(), settings, COUNT, WARM_UP, accepted, seconds, COUNT / seconds,
            rank(latencies, 0.50), rank(latencies, 0.99), cpuSeconds);
        System.exit(accepted == COUNT ? 0 : 1);
    }

    /** Sends as many notifications as there is room for latencies, and returns how many were accepted. */
    private static int send(final ApnsClient client, final int first, final long[] latencies) throws Exception {
        final var accepted = new AtomicInteger();
        final var room = new Semaphore(AT_ONCE);
        for (int next = 0; next < latencies.length; next++) {
            room.acquire();
            final int place = next;
            final long start = System.nanoTime();
            final var notification = new SimpleApnsPushNotification(
                token(first + place), TOPIC, "{\"aps\":{\"alert\":\"Hello\"}}");
            client.sendNotification(notification).whenComplete((response, failure) -> {
                latencies[place] = System.nanoTime() - start;
                if (response != null && response.isAccepted()) accepted.incrementAndGet();
                room.release();
            });
        }
        room.acquire(AT_ONCE);
        return accepted.get();
    }

    /** Returns a device token that no other notification of any run has. */
    private static String token(final int place) {
        return String.format("%08x%056x", RUN, place);
    }

    private static double rank(final long[] sorted, final double share) {
        return sorted[(int) (share * (sorted.length - 1))] / 1e6;
    }

    private static int number(final String name, final int otherwise) {
        final String value = System.getenv(name);
        return value == null ? otherwise : Integer.parseInt(value);
    }

    /** Returns the version in the name of the archive, as in pushy-0.15.6.jar: the manifest has none. */
    private static String version() {
        final var archive = ApnsClient.class.getProtectionDomain().getCodeSource().getLocation();
        return new File(archive.getPath()).getName().replaceAll("^pushy-|\\.jar$", "");
    }
}
