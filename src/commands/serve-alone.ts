import type { AdminAddress, Config } from "../config.ts";
import { startAdmin } from "../start.ts";
import type { Certificate } from "../wire/listen.ts";
import { reloadCertificate } from "./certificate.ts";
import { printMessage } from "./common.ts";
import { claimPort, listenOnPort, withListenErrors } from "./listen-on-port.ts";
import { processFamilies } from "./process-families.ts";
import type { Server } from "./serve-processes.ts";

/** Serves everything with this process. @throws Refusal with the reason when it cannot */
export async function serveAlone(
  config: Config,
  address: AdminAddress | undefined,
  certificate: Certificate | undefined,
): Promise<Server> {
  // With a certificate, the port can be shared, so that a second socket can take it over with another certificate.
  if (certificate) await claimPort(config);
  const server = await listenOnPort(config, certificate);
  const { engine, snapshots, url, port, sites } = server;
  const own = { responding: 1, expected: 1, restarts: 0 };
  const samples = async () => [await server.sample(), processFamilies(own)];
  const openAdmin = (at: AdminAddress) =>
    startAdmin(config, at, certificate, { engine, snapshots, samples, publicUrl: url });
  const opening = address && withListenErrors(address, () => openAdmin(address));
  const admin = await opening?.catch(async (error) => {
    await server.stop();
    throw error;
  });
  return {
    url,
    port,
    sites,
    isNew: engine.isNew,
    adminUrl: admin?.url,
    async reload() {
      const next = reloadCertificate(config);
      if (!config.tls) printMessage("storefront: there is nothing to reload: no certificate, and one worker");
      if (!next) return;
      await Promise.all([server.replaceCertificate(next), admin?.replaceCertificate(next)]);
      printMessage("storefront: reloaded the certificate");
    },
    async stop() {
      await server.drain();
      await Promise.all([server.stop(), admin?.stop(0)]);
    },
  };
}
