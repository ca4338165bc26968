import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { freePort } from '../support/switch.ts'
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
  assert.match(taken.stderr, /LINK is the name of another link/)
})

test('what the terminal took back is among the advices of its link', async () => {
  await answer('terminal')
  const [advice] = await answer('links', 'advices', 'sandbox')
  assert.deepEqual([advice.messageType, advice.isMatched], ['0400', true])
  assert.match(advice.publicToken, /^[0-9]{10}$/)
  const { stdout } = await run('links', 'advices', 'sandbox')
  assert.match(stdout, new RegExp(`0400 +${advice.publicToken} `))
})
