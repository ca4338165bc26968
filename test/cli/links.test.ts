import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { before, test } from 'node:test'
import { freePort } from '../support/switch.ts'
import { until } from '../support/until.ts'
import { type Ended, launchPinfold, pinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

let program: ServedProgram
let env: Record<string, string>

before(async () => {
  const LINK_PORT = String(await freePort())
  program = await serveProgram({ env: { LINK_PORT, RATE_LIMIT: 'off' } })
  env = { DATA_DIR: program.dataDir, LINK_PORT }
})

const run = (...words: string[]): Promise<Ended> => pinfold(env, ...words)

/** What a command answered a program. */
const answer = async (...words: string[]) => {
  const { code, stderr, stdout } = await run(...words, '--json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

const guide = await readFile(
  new URL('../../docs/guides/connect-a-switch.md', import.meta.url),
  'utf8',
)

test('the terminal plays what the guide shows, and shows no secret of the card', async () => {
  const { code, stderr, stdout } = await launchPinfold(env, 'terminal')
  assert.equal(code, 0, stdout + stderr)
  const shown = /```\n(✔[^`]+)```/.exec(guide)?.[1] ?? ''
  assert(shown.split('\n').length > 6 && stdout.includes(shown.trim()), stdout)
  const [, lastFour] = / 2 {2}400000\*{6}([0-9]{4}) /.exec(stdout) ?? []
  assert(lastFour, stdout)
  // Of any other digits in a row some begin with 400000: a time that ends with 40, before an
  // acquirer's zeros.
  assert.doesNotMatch(stdout, new RegExp(`400000[0-9]{6}${lastFour}`))
  for (const field of ['14', '48', '52']) {
    assert.match(stdout, new RegExp(` ${field} {2}\\*\\*\\*\\* \\([0-9]+\\) `))
  }
})

test('the terminal says where an answer is another than it should be', async () => {
  const given = [
    '--pan',
    '4000001234567899',
    '--expiry',
    '2030-11',
    '--pin',
    '1234',
    '--cvv2',
    '123',
  ]
  const { code, stdout } = await run('terminal', ...given)
  assert.equal(code, 1, stdout)
  assert.match(stdout, /✔ 00 echo\n✘ 14 a purchase with a wrong PIN/)
  const nobody = await run('terminal', ...given, '--port', String(await freePort()))
  assert.equal(nobody.code, 3)
  assert.equal((await run('terminal', '--profile', 'none')).code, 2)
})

test('links are listed with their state, created, changed and disabled', async () => {
  const [own] = await answer('links', 'list')
  assert.equal(own.linkName, 'sandbox')
  await answer('zones', 'create', 'acme-network', '--name', 'Acme')
  const port = await freePort()
  const where = ['--host', '127.0.0.1', '--port', String(port), '--profile', 'ascii-1987']
  const made = await answer('links', 'create', 'acme-1', '--network', 'acme-network', ...where)
  assert.deepEqual(
    [made.linkName, made.direction, made.port, made.state],
    ['acme-1', 'listen', port, 'down'],
  )
  const changed = await answer('links', 'change', 'acme-1', '--peers', '10.1.0.9', '--disable')
  assert.deepEqual([changed.peers, changed.state], [['10.1.0.9'], 'disabled'])
  const { stdout } = await run('links', 'list')
  assert.match(stdout, /acme-1 +acme-network +listen 127\.0\.0\.1:\d+ +ascii-1987 +disabled/)
  assert.deepEqual(await answer('links', 'advices', 'acme-1'), [])
  const taken = await run('links', 'create', 'acme-1', '--network', 'acme-network', ...where)
  assert.equal(taken.code, 1)
  assert.match(taken.stderr, /LINK names a link that already exists/)
})

test('a link whose port another program has is failed, and the terminal does not call that program', async (t) => {
  let calls = 0
  const other = createServer((socket) => {
    calls += 1
    socket.destroy()
  })
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const where = ['--host', '127.0.0.1', '--port', String(port), '--profile', 'ascii-1987']
  await answer('links', 'create', 'taken-1', '--network', 'demo-network', ...where)
  const find = async () => {
    const links: { linkName: string; state: string; fault: string | null }[] = await answer(
      'links',
      'list',
    )
    return links.find(({ linkName }) => linkName === 'taken-1')
  }
  await until(async () => (await find())?.state === 'failed')
  const fault = `127.0.0.1:${port} is taken by another program (EADDRINUSE).`
  assert.equal((await find())?.fault, fault)
  assert.ok((await run('links', 'list')).stdout.includes(`taken-1: ${fault}`))
  const { privateUrl } = program
  const health = await fetch(`${privateUrl}/health`)
  const { checks } = (await health.json()) as { checks: Record<string, { output: string }[]> }
  assert.equal(checks['links:listening']?.[0]?.output, `Not listening: taken-1: ${fault}`)
  const played = await run('terminal', '--link', 'taken-1')
  assert.equal(played.code, 3, played.stdout)
  assert.ok(played.stderr.includes(fault), played.stderr)
  assert.equal(calls, 0)
})

test('a list that is limited reads no more than that from the server', async (t) => {
  const asked: string[] = []
  const between = createHttpServer(async ({ headers, url = '' }, response) => {
    asked.push(url)
    const { authorization = '' } = headers
    const passed = await fetch(program.privateUrl + url, { headers: { authorization } })
    response.setHeader('content-type', 'application/json')
    response.end(await passed.text())
  })
  await once(between.listen(0, '127.0.0.1'), 'listening')
  t.after(() => between.close())
  const { port } = between.address() as AddressInfo
  const { clientId, clientSecret } = program.sandbox.admin
  const { code, stderr } = await pinfold(
    {
      PINFOLD_URL: program.baseUrl,
      PINFOLD_PRIVATE_URL: `http://127.0.0.1:${port}`,
      PINFOLD_CLIENT_ID: clientId,
      PINFOLD_CLIENT_SECRET: clientSecret,
    },
    ...['acts', '--limit', '2'],
  )
  assert.equal(code, 0, stderr)
  assert.deepEqual(asked, ['/acts?limit=2'])
})

test('what the terminal took back is among the advices of its link', async () => {
  await answer('terminal')
  const [advice] = await answer('links', 'advices', 'sandbox')
  assert.deepEqual([advice.messageType, advice.isMatched], ['0400', true])
  assert.match(advice.publicToken, /^[0-9]{10}$/)
  const { stdout } = await run('links', 'advices', 'sandbox')
  assert.match(stdout, new RegExp(`0400 +${advice.publicToken} `))
})
