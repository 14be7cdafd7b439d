// Things that happen to a cluster. Each starts with a healthy cluster under load, and returns once writes are confirmed again.

import type { Cluster, PatroniNode } from "./cluster.ts";
import { type Load, request, type Servers, type Shop } from "./load.ts";

export interface Scene {
  readonly cluster: Cluster;
  readonly load: Load;
  readonly servers: Servers;
  /** Not under load; has brands 1 and 2. */
  readonly quiet: Shop;
}

/** How long the load continues while an old primary is still running. */
const zombieTime = 10_000;

export const events: Readonly<Record<string, (scene: Scene, leader: PatroniNode) => Promise<void>>> = {
  async "the leader is killed"(scene, leader) {
    leader.signal("both", "SIGKILL");
    await newPrimary(scene, leader);
  },

  async "a switchover"(scene, leader) {
    await scene.cluster.switchOver(leader);
    await newPrimary(scene, leader);
  },

  async "the leader is frozen, and comes back"(scene, leader) {
    leader.signal("both", "SIGSTOP");
    await newPrimary(scene, leader);
    leader.signal("both", "SIGCONT");
    await Bun.sleep(zombieTime);
  },

  async "the leader is frozen, and wakes up during the promotion"(scene, leader) {
    leader.signal("both", "SIGSTOP");
    await scene.cluster.promoted(others(scene, leader));
    leader.signal("both", "SIGCONT");
    await newPrimary(scene, leader);
    await Bun.sleep(zombieTime);
  },

  async "the leader is killed, and comes back before another takes over"(scene, leader) {
    leader.signal("both", "SIGKILL");
    await Bun.sleep(1000);
    leader.start();
    await scene.cluster.ready(scene.cluster.nodes);
    await scene.load.untilWritesAreBack();
  },

  async "etcd is unreachable"(scene) {
    scene.cluster.signalEtcd("SIGSTOP");
    await Bun.sleep(30_000);
    scene.cluster.signalEtcd("SIGCONT");
    await scene.cluster.ready(scene.cluster.nodes);
    await scene.load.untilWritesAreBack();
  },

  async "the standbys are unreachable"(scene, leader) {
    for (const node of others(scene, leader)) node.signal("both", "SIGSTOP");
    await Bun.sleep(10_000);
    for (const node of others(scene, leader)) node.signal("both", "SIGCONT");
    await scene.cluster.ready([leader]);
    await scene.load.untilWritesAreBack();
  },

  async "the leader's PostgreSQL is killed"(scene, leader) {
    leader.signal("postgres", "SIGKILL");
    await Bun.sleep(500);
    await scene.cluster.ready(scene.cluster.nodes);
    await scene.load.untilWritesAreBack();
  },

  async "only the leader's Patroni is frozen"(scene, leader) {
    leader.signal("patroni", "SIGSTOP");
    await newPrimary(scene, leader);
    await Bun.sleep(zombieTime);
    leader.signal("patroni", "SIGCONT");
    await Bun.sleep(3000);
  },

  async "only the leader's Patroni is killed, and its PostgreSQL lives on"(scene, leader) {
    leader.signal("patroni", "SIGKILL");
    await newPrimary(scene, leader);
    await Bun.sleep(zombieTime);
  },

  async "a commit that clients have seen is lost with its machine"(scene, leader) {
    // Freeze Patroni everywhere, or it would tell etcd that replication has stopped, and the standby would no longer be a candidate.
    for (const node of scene.cluster.nodes) node.signal("patroni", "SIGSTOP");
    const standbys = others(scene, leader);
    await Promise.all(standbys.map((node) => cutReplication(node)));
    await loseCommit(scene, leader);
    leader.signal("both", "SIGKILL");
    for (const node of standbys) node.signal("patroni", "SIGCONT");
    await newPrimary(scene, leader);
    await writeInPlace(scene);
  },
};

/** Waits until another node is the primary and confirms writes. */
async function newPrimary(scene: Scene, leader: PatroniNode): Promise<void> {
  await scene.cluster.promoted(others(scene, leader));
  scene.load.notePromotion();
  await scene.cluster.ready(others(scene, leader));
  await scene.load.untilWritesAreBack();
}

function others({ cluster }: Scene, leader: PatroniNode): PatroniNode[] {
  return cluster.nodes.filter((node) => node !== leader);
}

/** Stops a standby's replication, then resets the setting so that it has no effect after a promotion. */
async function cutReplication(node: PatroniNode): Promise<void> {
  await node.run("alter system set primary_conninfo = ''");
  await node.run("select pg_reload_conf()");
  while ((await node.run("select 1 from pg_stat_wal_receiver")).length > 0) await Bun.sleep(20);
  await node.run("alter system reset primary_conninfo");
}

/** Makes a commit visible that no standby has, and waits until every worker has seen it. */
async function loseCommit({ servers, quiet }: Scene, leader: PatroniNode): Promise<void> {
  const waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'";
  let writing: Promise<unknown> | undefined;
  for (const end = performance.now() + 20_000; ; await Bun.sleep(50)) {
    // Other writes are waiting too, so the server may have rejected this one. Repeat it then.
    writing ??= request(servers.writing, quiet, "PUT", "brands/1.json", { Name: "lost" }).then(() => {
      writing = undefined;
    });
    await leader.run(`select pg_terminate_backend(pid) from (${waiting}) as waiting`);
    const lists = await readLists(servers, quiet);
    if (lists.every((list) => list.includes("lost"))) break;
    if (performance.now() > end) throw new Error("some workers haven't read the commit that is about to be lost");
  }
  await writing;
}

/** Writes to another record. This change gets the lost one's revision. */
async function writeInPlace({ servers, quiet }: Scene): Promise<void> {
  for (;;) {
    const { status } = await request(servers.writing, quiet, "PUT", "brands/2.json", { Name: "confirmed" });
    if (status === 200) return;
    await Bun.sleep(50);
  }
}

async function readLists(servers: Servers, shop: Shop): Promise<string[]> {
  const all = Object.values(servers).flatMap((server) =>
    Array.from({ length: 8 }, () => request(server, shop, "GET", "brands.json")),
  );
  return (await Promise.all(all)).map(({ json }) => JSON.stringify(json) ?? "");
}
