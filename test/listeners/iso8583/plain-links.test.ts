import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { before, test } from 'node:test'
import { Problem } from '../../../src/domain/problem.ts'
import { recordProcessStart } from '../../../src/operations/audit-log/processes.ts'
import { changeLink, createLink, listPlainLinks } from '../../../src/operations/links/links.ts'
import { parseConfig, readConfig } from '../../../src/service/config/config.ts'
import { linkFindings } from '../../../src/service/doctor/installation.ts'
import { createLog } from '../../../src/service/log.ts'
import { createService } from '../../../src/service/service.ts'
import { undivided } from '../../../src/storage/engine/database.ts'
import { makeFolder } from '../../support/process.ts'
import { openTestService, sql, type TestService } from '../../support/service.ts'
import { freePort, openLink } from '../../support/switch.ts'
import { until } from '../../support/until.ts'

let service: TestService
let dataDir: string

before(async () => {
  dataDir = await makeFolder()
  service = await openTestService({ dataDir })
})

const requester = { clientId: 'demo-admin', requestId: 'a-request' }

const linkAt = async (host: string, members: object = {}) => ({
  linkName: `at-${await freePort()}`,
  networkId: 'demo-network',
  direction: 'listen' as const,
  host,
  port: await freePort(),
  profile: 'sandbox',
  tls: false,
  certificates: [],
  peers: ['0.0.0.0/0'],
  zoneMasterKey: null,
  active: true,
  ...members,
})

const operations = (allowsPlain: boolean) => ({
  database: service.database,
  hsm: service.issuing.hsm,
  tls: null,
  allowsPlain,
  profiles: new Set(['sandbox']),
})

const weakenedOf = async (linkName: string) =>
  (
    await sql<{ details: string }>(
      service.database,
      `select details from audit_act where act = 'setting.weakened' and subject = $1`,
      [`link ${linkName}`],
    )
  ).map(({ details }) => JSON.parse(details).found)

test('production lets no link speak in clear beyond loopback, unless that is accepted by name', async () => {
  const production = (env: object) =>
    parseConfig({ SANDBOX: 'false', ...env }).config.allowsPlainLinks
  assert.equal(production({}), false)
  assert.equal(production({ ACCEPT_PLAIN_LINKS: 'yes' }), true)
  assert.equal(parseConfig({ SANDBOX: 'true' }).config.allowsPlainLinks, true)
  const { faults } = parseConfig({ ACCEPT_PLAIN_LINKS: 'perhaps' })
  assert.match(faults.join(), /ACCEPT_PLAIN_LINKS must be/)
  const plain = [
    await linkAt('0.0.0.0'),
    await linkAt('::'),
    await linkAt('10.1.2.3'),
    await linkAt('10.1.2.3', { direction: 'dial' }),
  ]
  for (const link of plain) {
    await assert.rejects(createLink(operations(false), requester, link, null), (error) => {
      assert.ok(error instanceof Problem, String(error))
      assert.deepEqual(
        error.errors?.map(({ pointer }) => pointer),
        ['/tls'],
      )
      assert.match(error.errors?.[0]?.detail ?? '', /ACCEPT_PLAIN_LINKS=yes/)
      return true
    })
  }
  for (const host of ['127.0.0.1', '::1']) {
    await createLink(operations(false), requester, await linkAt(host), null)
  }
  // One that does not run is registered, and is refused when it is to run.
  const resting = await linkAt('0.0.0.0', { active: false })
  await createLink(operations(false), requester, resting, null)
  const { linkName } = resting
  const enabling = changeLink(operations(false), requester, { linkName, active: true }, null)
  await assert.rejects(enabling, { code: 'validation_failed' })
  assert.deepEqual(await weakenedOf(linkName), [])
})

test('an accepted link in clear is recorded at each change and start, with a warning', async () => {
  const link = await linkAt('0.0.0.0')
  const { linkName, port } = link
  await createLink(operations(true), requester, link, null)
  const found = `listens unencrypted at 0.0.0.0:${port}`
  assert.deepEqual(await weakenedOf(linkName), [found])
  const weakened = await listPlainLinks({ database: service.database })
  assert.deepEqual(weakened, [{ variable: `link ${linkName}`, found }])
  await recordProcessStart(service.database, {
    processId: crypto.randomUUID(),
    version: '0',
    node: '24',
    host: 'here',
    hsm: 'software',
    database: 'embedded',
    weakened,
  })
  assert.deepEqual(await weakenedOf(linkName), [found, found])
  for (const [allowsPlainLinks, verdict] of [
    [true, 'warning'],
    [false, 'fault'],
  ] as const) {
    const findings = await linkFindings(service.database, { allowsPlainLinks, sandbox: false })
    const plain = findings.filter(({ found: said }) =>
      said.includes('to another machine without TLS'),
    )
    assert.deepEqual(
      plain.map((each) => [each.verdict, each.found.startsWith(linkName)]),
      [[verdict, true]],
    )
  }
  await changeLink(operations(false), requester, { linkName, active: false }, null)
  assert.deepEqual(await listPlainLinks({ database: service.database }), [])
})

test('a link in clear that was registered before does not run where none is accepted', async () => {
  const [plain, own] = [await openLink(service, { host: '0.0.0.0' }), await openLink(service)]
  await service.links.stop()
  const lines: string[] = []
  const config = readConfig({ SANDBOX: 'true', LINK_PORT: '0', DATA_DIR: dataDir })
  const strict = await createService(
    { ...config, allowsPlainLinks: false },
    undivided(service.database),
    createLog('info', { write: (line) => lines.push(line) }),
  )
  try {
    await strict.links.refresh()
    await strict.links.refresh()
    await until(() => isListening(own.port))
    assert.equal(await isListening(plain.port), false)
    const said = lines.filter((line) => line.includes('ACCEPT_PLAIN_LINKS'))
    assert.equal(said.length, 1, 'it is said once')
    assert.ok(said[0]?.includes(plain.linkName))
  } finally {
    await strict.links.stop()
    await Promise.all([strict.publicServer.close(), strict.privateServer.close()])
  }
})

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
