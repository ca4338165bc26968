/**
 * Databases of a Citus cluster for tests, where `TEST_CITUS_URL` names one: the URL of a superuser
 * on its coordinator, who is let in by every node under the same name and password, as the nodes
 * let in one another. A database of a test is made on each node; none of the cluster's own is
 * touched.
 */
import { createHash, randomBytes } from 'node:crypto'
import pg, { DatabaseError } from 'pg'
import { lockTimeoutMs } from '../../src/storage/engine/database.ts'
import { administer, onDatabase, type TestPostgres } from './test-databases.ts'

/** SQLSTATE of a database that others use. */
const inUse = '55006'
const leftOut = 'Citus leg left out: TEST_CITUS_URL names no cluster'

/** The cluster, as one that opens a server has it. */
export const openCitus = (): TestPostgres => {
  const { TEST_CITUS_URL: url } = process.env
  const refuse = async (): Promise<never> => {
    throw new Error(leftOut)
  }
  const stop = async (): Promise<void> => {}
  if (!url) {
    return {
      leftOut,
      url,
      pid: undefined,
      isCluster: true,
      createDatabase: refuse,
      template: refuse,
      stop,
    }
  }
  return {
    leftOut: false,
    url,
    pid: undefined,
    isCluster: true,
    async createDatabase({ template } = {}) {
      const name = `test_${randomBytes(8).toString('hex')}`
      if (template) await copyDatabase(url, template, name)
      else await createCluster(url, name)
      return { url: onDatabase(url, name), name, close: () => dropDatabase(url, name) }
    },
    template: (key, prepare) => prepareTemplate(url, key, prepare),
    stop,
  }
}

/** What an operator does once: the extension on each node, and the coordinator knows them. */
async function createCluster(url: string, name: string): Promise<void> {
  const nodes = await listNodes(url)
  for (const node of nodes) {
    await administer(node, (client) => client.query(`create database ${name}`))
    await administer(onDatabase(node, name), (client) => client.query('create extension citus'))
  }
  const [coordinator = '', ...workers] = nodes
  await administer(onDatabase(coordinator, name), async (client) => {
    const { hostname, port } = new URL(coordinator)
    await client.query('select citus_set_coordinator_host($1, $2)', [hostname, port])
    for (const worker of workers) {
      await client.query('select citus_add_node($1, $2)', [
        new URL(worker).hostname,
        new URL(worker).port,
      ])
    }
  })
}

/** A copy has the tables of its template, and not what a preparation has set for its sessions. */
const copyDatabase = (url: string, template: string, name: string): Promise<void> =>
  onEachNode(url, async (node) => {
    await node.query(`create database ${name} template ${template}`)
    await node.query(`alter database ${name} set lock_timeout = ${lockTimeoutMs}`)
  })

async function dropDatabase(url: string, name: string): Promise<void> {
  for (const node of (await listNodes(url)).reverse()) {
    await rollBackPrepared(node, name)
    await administer(node, (client) => dropOnNode(client, name))
  }
}

/** Rolls back the transactions that a lost connection left prepared: they keep the database. */
async function rollBackPrepared(node: string, name: string): Promise<void> {
  const listed: string[] = []
  await administer(node, async (client) => {
    const { rows } = await client.query('select gid from pg_prepared_xacts where database = $1', [
      name,
    ])
    listed.push(...rows.map(({ gid }) => gid))
  })
  if (listed.length === 0) return
  await administer(onDatabase(node, name), async (client) => {
    for (const gid of listed) {
      // The cluster may recover it meanwhile.
      await client.query(`rollback prepared ${pg.escapeLiteral(gid)}`).catch(() => undefined)
    }
  })
}

/**
 * The sessions that the engine ends for it have five seconds to end, which a busy machine may
 * exceed.
 */
async function dropOnNode(node: pg.Client, name: string): Promise<void> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      await node.query(`drop database if exists ${name} with (force)`)
      return
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== inUse || repeats === 5) throw error
    }
  }
}

/** As that of a server: whoever asks first makes it, and the others wait. */
async function prepareTemplate(
  url: string,
  key: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  const name = `template_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`
  await administer(url, async (client) => {
    await client.query('select pg_advisory_lock(hashtext($1))', [name])
    const found = await client.query('select from pg_database where datname = $1', [name])
    if (found.rowCount === 1) return
    const draft = `${name}_draft`
    await dropDatabase(url, draft)
    await createCluster(url, draft)
    await prepare(onDatabase(url, draft))
    // The coordinator last: it is what says that the template is complete.
    await onEachNode(url, async (node) => {
      await node.query(`alter database ${draft} with allow_connections false`)
      // The nodes' own connections, and what maintains a database of a cluster.
      await node.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
        [draft],
      )
      await dropOnNode(node, name)
      await node.query(`alter database ${draft} rename to ${name}`)
    })
  })
  return name
}

/**
 * Ends what the coordinator has open to the other nodes for a database, as a network does.
 * @returns how many.
 */
export async function endConnectionsToNodes(url: string): Promise<number> {
  const { pathname } = new URL(url)
  let ended = 0
  const [, ...workers] = await listNodes(url)
  for (const worker of workers) {
    await administer(onDatabase(worker, 'postgres'), async (client) => {
      const { rows } = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = $1 and backend_type = 'client backend'`,
        [pathname.slice(1)],
      )
      ended += rows.length
    })
  }
  return ended
}

/** The workers before the coordinator. */
async function onEachNode(
  url: string,
  work: (client: pg.Client) => Promise<unknown>,
): Promise<void> {
  for (const node of (await listNodes(url)).reverse()) await administer(node, work)
}

/** The URLs of the nodes' databases that the cluster's URL names, the coordinator's first. */
async function listNodes(url: string): Promise<string[]> {
  const nodes: string[] = []
  await administer(url, async (client) => {
    const { rows } = await client.query(
      'select nodename, nodeport from pg_dist_node where isactive order by groupid',
    )
    for (const { nodename, nodeport } of rows) {
      const node = new URL(url)
      node.hostname = nodename
      node.port = String(nodeport)
      nodes.push(node.href)
    }
  })
  return nodes
}
