/**
 * `pinfold doctor` of servers elsewhere, and the advice on what a server finds wrong with itself.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, type TestContext, test } from 'node:test'
import { examine } from '../../src/service/doctor/examine.ts'
import type { Finding } from '../../src/service/doctor/finding.ts'
import { healthFindings } from '../../src/service/doctor/health.ts'
import { freePorts } from '../support/free-ports.ts'
import { type Program, startProgram } from '../support/process.ts'
import { openTestService } from '../support/service.ts'
import { pinfold } from './run-pinfold.ts'

let program: Program
before(async () => {
  program = await startProgram()
})

/** What the doctor finds and ends with, asked for the servers at addresses. */
async function examineAt(...words: readonly string[]) {
  const { code, stdout } = await pinfold({}, 'doctor', '--json', ...words)
  const { findings, healthy }: { findings: readonly Finding[]; healthy: boolean } =
    JSON.parse(stdout)
  const faults = findings.filter(({ verdict }) => verdict === 'fault')
  return { code, findings, healthy, faults }
}

/** Another program that answers everything in one way. */
async function otherServer(t: TestContext, status: number, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('an address at which no Pinfold server answers is a fault, and ends with the exit code of one', async (t) => {
  const [port] = await freePorts()
  const addresses = [
    `http://127.0.0.1:${port}`,
    await otherServer(t, 404, '<h1>Not found</h1>'),
    await otherServer(t, 200, '{"info":{"title":"Petstore"}}'),
    await otherServer(t, 200, 'null'),
  ]
  for (const address of addresses) {
    for (const option of ['--url', '--private-url']) {
      const { code, faults, healthy } = await examineAt(option, address)
      assert.deepEqual([code, healthy, faults.length], [1, false, 1])
      assert.ok(faults[0]?.found.startsWith(`No Pinfold server answered at ${address}: `))
    }
  }
  const { stdout } = await pinfold({}, 'doctor', '--url', addresses[0] ?? '')
  assert.match(stdout, /^FAULT +server: No Pinfold server answered at .*ECONNREFUSED/)
  assert.ok(!stdout.includes('No faults were found'))
})

test('the listeners of a Pinfold server elsewhere are found well, and each other where they are exchanged', async () => {
  const { baseUrl, sandbox } = program
  const { privateUrl } = sandbox
  const well = await examineAt('--url', baseUrl, '--private-url', `${privateUrl}/`)
  assert.deepEqual(well.faults, [])
  assert.equal(well.code, 0)
  assert.ok(well.findings.some(({ found }) => found === `A Pinfold server answers at ${baseUrl}.`))
  assert.ok(well.findings.some(({ check, found }) => check === 'health' && /^hsm: /.test(found)))
  const exchanged = await examineAt('--url', privateUrl, '--private-url', baseUrl)
  assert.equal(exchanged.code, 1)
  assert.deepEqual(
    exchanged.faults.map(({ remedy }) => /^Exchange the addresses/.test(remedy ?? '')),
    [true, true],
  )
})

test('servers that the environment names are examined beside this machine', async () => {
  const [port] = await freePorts()
  const env = { DATA_DIR: program.dataDir, PINFOLD_URL: `http://127.0.0.1:${port}` }
  const { code, stdout } = await pinfold(env, 'doctor', '--json')
  const { findings }: { findings: readonly Finding[] } = JSON.parse(stdout)
  assert.equal(code, 1)
  assert.match(findings.at(-1)?.found ?? '', /^No Pinfold server answered at/)
  assert.ok(findings.some(({ check }) => check === 'configuration'))
})

test('an option that would change nothing is not understood', async () => {
  const elsewhere = ['--url', 'http://127.0.0.1:9'] as const
  const calls = [
    ['doctor', '--client', 'acme'],
    ['doctor', '--as-person'],
    ['doctor', '--url', 'file:///etc/passwd'],
    ['doctor', '--url', 'http://user:secret@127.0.0.1:9'],
    ['start', ...elsewhere],
    ['migrate', ...elsewhere],
    ['cluster', 'prepare', ...elsewhere],
    ['init', '/nowhere', ...elsewhere],
    ['witness', ...elsewhere],
    ['sign-in', ...elsewhere],
    ['audit', 'verify', '.', ...elsewhere],
    ['audit', 'monitor', 'http://127.0.0.1:9', ...elsewhere],
  ]
  for (const words of calls) {
    const { code, stderr } = await pinfold({}, ...words)
    assert.equal(code, 2, words.join(' '))
    assert.ok(!stderr.includes('secret'), stderr)
  }
})

test('each check of the health document has advice of its own', async () => {
  const service = await openTestService()
  const { json } = await service.call('GET', '//health', { listener: 'private', token: null })
  // A log without entries has no check of its signatures.
  const names = [...Object.keys(json.checks), 'audit-log:signing', 'audit-log:witnesses']
  assert.ok(names.includes('audit-log:entering') && names.includes('database:vacuum'))
  const failing = Object.fromEntries(names.map((name) => [name, [{ status: 'fail', output: 'x' }]]))
  const findings = healthFindings({ checks: failing })
  const remedyOf = (name: string) =>
    findings.find(({ found }) => found === `${name}: x`)?.remedy ?? ''
  assert.match(remedyOf('webhooks:failing'), /their receivers/)
  assert.match(remedyOf('keys:rotation'), /pinfold keys rotate/)
  assert.match(remedyOf('links:dialled'), /pinfold links list/)
  const unknown = healthFindings({ checks: { 'new:check': [{ status: 'warn', output: 'x' }] } })
  assert.equal(unknown[0]?.verdict, 'warning')
  assert.ok(names.every((name) => remedyOf(name) !== unknown[0]?.remedy))
  assert.equal(findings.filter(({ remedy }) => /Database rollback/.test(remedy ?? '')).length, 1)
})

test('the doctor beside an embedded database in use says what its server finds wrong with itself', async () => {
  const findings = await examine({ DATA_DIR: program.dataDir })
  const health = findings.filter(({ check }) => check === 'health')
  assert.ok(health.some(({ found }) => found.startsWith('webhooks:failing: ')))
})
