import assert from 'node:assert/strict'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { freePort } from '../support/switch.ts'
import { type Ended, pinfold } from './run-pinfold.ts'
import { type ServedProgram, serveProgram } from './served-program.ts'

let program: ServedProgram
let env: Record<string, string>

before(async () => {
  const LINK_PORT = String(await freePort())
  program = await serveProgram({ env: { LINK_PORT, RATE_LIMIT: 'off' } })
  env = { DATA_DIR: program.dataDir, LINK_PORT }
})

const run = (...words: string[]): Promise<Ended> => pinfold(env, ...words)

/** A link of its own for a profile. */
const createLink = async (name: string, network: string, profile: string): Promise<void> => {
  const where = ['--host', '127.0.0.1', '--port', String(await freePort())]
  const words = ['links', 'create', name, '--network', network, ...where, '--profile', profile]
  const { code, stderr } = await run(...words)
  assert.equal(code, 0, stderr)
}

/** Plays on a link, once it listens: every process looks for new ones every two seconds. */
const playOn = async (...words: string[]): Promise<Ended> => {
  for (let tried = 0; ; tried += 1) {
    const ended = await run('terminal', ...words)
    if (ended.code !== 3 || tried === 100) return ended
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** What each turn must come to, where it is not as in ISO 8583:1987. */
const codes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'ascii-1993': {
    '55': '117',
    '75': '106',
    N7: '122',
    '00': '000',
    signed: '800',
    reversed: '400',
  },
  'mastercard-public': { N7: '05' },
}

for (const profile of [
  'ascii-1987',
  'ascii-1993',
  'binary-1987',
  'mastercard-public',
  'sandbox',
  'visa-public',
]) {
  test(`the terminal plays on a link of one's own with ${profile}, PINs and CVV2s included`, async () => {
    const link = `own-${profile}`
    await createLink(link, 'demo-network', profile)
    const { code, stderr, stdout } = await playOn('--link', link)
    assert.equal(code, 0, stdout + stderr)
    const own = codes[profile] ?? {}
    const signed = own.signed ?? '00'
    const approved = own['00'] ?? '00'
    const expected = [
      `✔ ${signed} sign-on`,
      `✔ ${signed} echo`,
      `✔ ${own['55'] ?? '55'} a purchase with a wrong PIN`,
      `✔ ${own['55'] ?? '55'} its repeat: the same answer, without a second try`,
      `✔ ${approved} a purchase with the right PIN`,
      `✔ ${own.N7 ?? 'N7'} a purchase with a wrong CVV2`,
      `✔ ${approved} a purchase with the right CVV2`,
      `✔ ${own.reversed ?? '00'} its reversal, which restores no try`,
    ]
    assert.deepEqual(stdout.trim().split('\n').slice(-8), expected)
  })
}

for (const profile of ['ascii-1987', 'ascii-1993', 'binary-1987', 'sandbox', 'visa-public']) {
  test(`with ${profile} the terminal plays a chip whose PIN is blocked, and works again`, async () => {
    const link = `chip-${profile}`
    await createLink(link, 'demo-network', profile)
    const { code, stderr, stdout } = await playOn('--link', link, '--chip')
    assert.equal(code, 0, stdout + stderr)
    const own = codes[profile] ?? {}
    const approved = own['00'] ?? '00'
    const blocked = own['75'] ?? '75'
    const expected = [
      `✔ ${approved} a purchase with the right PIN, which the chip compares`,
      '✔ verified the chip verifies the answer',
      '✔ 2 left a wrong PIN, which the chip compares',
      '✔ 1 left a wrong PIN, which the chip compares',
      '✔ 0 left a wrong PIN, which the chip compares',
      `✔ ${blocked} a purchase with the blocked chip`,
      '✔ verified the chip verifies the answer',
      '✔ pending PIN status: the update of the chip',
      `✔ ${blocked} the first purchase after Unblock PIN`,
      '✔ verified the chip verifies the answer',
      '✔ done its answer carries the command to the chip',
      '✔ sent PIN status: the update of the chip',
      `✔ ${approved} the next purchase with the right PIN`,
      '✔ verified the chip verifies the answer',
      '✔ done PIN status: the update of the chip',
      '✔ pending PIN status: the update of the chip',
      `✔ ${approved} the first purchase after Set PIN`,
      '✔ verified the chip verifies the answer',
      '✔ done its answer carries the command to the chip',
      '✔ sent PIN status: the update of the chip',
      `✔ ${approved} the next purchase with the new PIN`,
      '✔ verified the chip verifies the answer',
      '✔ done PIN status: the update of the chip',
    ]
    assert.deepEqual(stdout.trim().split('\n').slice(-expected.length), expected)
  })
}

test('the terminal asks for the amount and at the merchant that it is given', async () => {
  await createLink('shop-1', 'demo-network', 'ascii-1987')
  const goods = ['--amount', '12.34', '--currency', 'EUR', '--merchant', 'Corner Bakery']
  const { code, stderr, stdout } = await playOn('--link', 'shop-1', ...goods)
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /000000001234 +amount, transaction/)
  assert.match(stdout, /978 +currency code, transaction/)
  assert.match(stdout, /Corner Bakery +Madrid +ES +card acceptor name and location/)
  // The client reads the same merchant, and its terminal.
  const [newest] = JSON.parse(
    (await run('authorizations', 'list', '--limit', '1', '--json')).stdout,
  )
  const shown = await run('authorizations', 'show', newest.authorizationId)
  assert.match(shown.stdout, /^transaction +12\.34 EUR at Corner Bakery, MCC 5411$/m)
  assert.match(shown.stdout, /^merchantId +PINFOLDTERMINAL$/m)
  assert.match(shown.stdout, /^terminalId +TERM0001$/m)
  assert.match(shown.stdout, /^city +Madrid$/m)
  assert.match(shown.stdout, /^country +ESP$/m)
})

test('an amount that its currency does not have is refused before anything is sent', async () => {
  const { code, stderr } = await run('terminal', '--amount', '12.345')
  assert.equal(code, 2)
  assert.match(stderr, /12\.345 is not an amount in EUR: write it as in 1234\.50\./)
})

test('without the key of the network the purchases with a PIN are left out, and that is said', async () => {
  const made = await run('zones', 'create', 'acme-network', '--name', 'Acme')
  assert.equal(made.code, 0, made.stderr)
  await createLink('acme-1', 'acme-network', 'ascii-1987')
  const { code, stderr, stdout } = await playOn('--link', 'acme-1')
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /the value of pin-01 is unknown\. Name its file with --zone-key-file/)
  assert.doesNotMatch(stdout, /[✔✘].*PIN$/m)
  const folder = await mkdtemp(join(tmpdir(), 'zone-key-'))
  const file = join(folder, 'pin-01.hex')
  await writeFile(file, '0123456789ABCDEF\n')
  const short = await run('terminal', '--link', 'acme-1', '--zone-key-file', file)
  assert.equal(short.code, 2)
  assert.match(short.stderr, /32 or 48 hexadecimal digits/)
  await writeFile(file, `${'0123456789ABCDEF'.repeat(2)}\n`)
  const unknown = await run('terminal', '--link', 'acme-1', '--zone-key-file', file)
  // The network has no such key: 86, and that is not what is due.
  assert.equal(unknown.code, 1, unknown.stdout + unknown.stderr)
  assert.match(unknown.stdout, /✘ 86 a purchase with a wrong PIN/)
})
